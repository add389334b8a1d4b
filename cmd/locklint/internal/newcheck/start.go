package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var idForm = regexp.MustCompile(`^LL\d{4}$`)

// start writes the files of a new check. What is there stays as it is.
func start(root, id, title string) error {
	switch {
	case !idForm.MatchString(id):
		return fmt.Errorf("%q is no ID: it has the form LLNNNN, such as LL4005", id)
	case title == "" || strings.Contains(title, "\n"):
		return fmt.Errorf("the title of %s is %q: say in a few words what it finds", id, title)
	}
	dir := filepath.Join(root, strings.ToLower(id))
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s exists already", dir)
	}
	for name, text := range scaffold(id, title) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return err
		}
	}
	fmt.Printf("%s is started; fill it in, and run go generate ./cmd/locklint/... for CHECKS.md; CONTRIBUTING.md lists what else it needs\n", dir)
	return nil
}

// scaffold are the files of a check that reports nothing yet, by name.
func scaffold(id, title string) map[string]string {
	name := strings.ToLower(id)
	expand := strings.NewReplacer("LL9999", id, "ll9999", name, "TITLE", title).Replace
	return map[string]string{
		name + ".go": expand(codeText),
		"doc.md":     expand(pageText),
		"testdata/src/" + name + "/" + name + ".go": expand(testText),
	}
}

const codeText = `// Package ll9999 is the check LL9999; see doc.md.
package ll9999

import (
	_ "embed"
	"fmt"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/check"
)

//go:embed doc.md
var page string

// Check is LL9999.
var Check = check.New(check.Spec{Page: page, Severity: check.Warning, Off: true, Run: run})

// run reports every lock; say which.
func run(r *check.Reporter) {
	for _, l := range r.Index.Locks {
		pos, end := r.Span(l.Acquire)
		r.Report(analysis.Diagnostic{Pos: pos, End: end, Message: fmt.Sprintf("%s takes a lock", l.Acquire.What())})
	}
}
`

const pageText = `# LL9999: TITLE

Why it matters, in one to three paragraphs: what the code does, what goes wrong with it, and who pays for that.

## How it fails

| | client A | client B |
| --- | --- | --- |
| 1 | what happens first | |
| 2 | | what goes wrong |

## Fix by hand

How, with whatever client the code uses.

## Fix with a directive

The same, where the wrapper takes the lock:

	//lock:key=order:{id},ttl=30s
	func (s *Shop) payLocked(ctx context.Context, id int64) error { … }

## What is reported

What is, and what stays silent, so that silence can be trusted.
`

const testText = `// Package ll9999 has what LL9999 finds, and beside it what it is silent on.
package ll9999

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func found(ctx context.Context, rdb *redis.Client, token string) {
	if ok, _ := rdb.SetNX(ctx, "lock:order", token, time.Minute).Result(); ok { // want "LL9999: SetNX takes a lock"
		rdb.Del(ctx, "lock:order")
	}
}

func silent(ctx context.Context, rdb *redis.Client) {
	rdb.Get(ctx, "order")
}
`
