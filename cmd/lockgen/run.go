package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/gen"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// Exit codes, part of the command's contract.
const (
	exitOK     = 0
	exitStale  = 1 // -check found files that are not what they should be
	exitFailed = 2 // bad flags, bad directives, packages that cannot be read, files that cannot be written
)

const usage = `Lockgen writes lock_gen.go beside Go functions that carry a //lock: directive.

Usage:

	lockgen [flags] [packages]
	lockgen list [-json] [-from time] [-graph dot|mermaid] [-tags list] [packages]
	lockgen -explain kind

Packages are named as the go command names them: a folder (./shop), a folder and
all below it (./...), or an import path of the main module. The default is the
current folder, which is what //go:generate lockgen needs. One run over ./... is
much faster than one run for each package.

	//lock:key=order:{userID},ttl=30s
	func (s *Shop) placeOrderLocked(ctx context.Context, userID int64) (Order, error)

Flags:

	-check        write nothing; print what would change as a unified diff and
	              exit with 1 if any generated file is stale, missing or orphaned,
	              or if keys of different functions can be the same
	-explain kind explain a kind of problem, with a wrong and a right example
	-json         print problems and files as JSON to standard output
	-o path       write to a folder, in which the packages' folders are repeated, or
	              to a file with .go; for sources that cannot be written to
	-tags list    build tags, separated by commas; files under other tags and for
	              other systems are generated as well
	-v            say what is loaded and written
	-version      print the version
	-h            print this text

Lockgen prints all problems at once, as file:line:column: message, and writes
nothing at all if there is one. It exits with 0 if everything is in order and
with 2 if not; -check exits with 1 if only the files differ.

Lockgen list prints every lock and job of the packages, with -json for other tools,
and the keys of different functions that can be the same. The next ticks of a job
are those from now on, or from a time such as 2026-01-31T12:00:00Z. With -graph it
draws which locks are taken while others are held, for Graphviz or as Mermaid text;
cycles, in which callers can wait for each other, are red.
`

// A command is one run, as the flags say.
type command struct {
	check, json, verbose bool
	list                 bool
	from                 time.Time // of list: the moment from which ticks are told
	tags, explain, out   string
	graph                string // of list: the form to draw in
	patterns             []string
	stdout, stderr       io.Writer
	mayWrite             func() bool // is asked once, before the first file is touched
}

var errInterrupted = errors.New("lockgen: interrupted, nothing was written")

// run is one run. A context that ends while files are read or the go command works ends it at once, even where a read
// does not return. Writing is left to finish.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var turn atomic.Bool // taken by the first who wants to write, or to leave
	c := &command{stdout: stdout, stderr: stderr,
		mayWrite: func() bool { return ctx.Err() == nil && turn.CompareAndSwap(false, true) }}
	done := make(chan int, 1)
	go func() { done <- c.run(ctx, args) }()
	select {
	case code := <-done:
		if ctx.Err() == nil || turn.Load() {
			return code
		}
	case <-ctx.Done():
		if !turn.CompareAndSwap(false, true) {
			return <-done
		}
	}
	fmt.Fprintln(stderr, errInterrupted)
	return exitFailed
}

func (c *command) run(ctx context.Context, args []string) int {
	if code, done := c.parse(args); done {
		return code
	}
	code, err := c.generate(ctx)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(c.stderr, files.Lines(err.Error()))
	}
	return code
}

// parse reads the flags. done says that there is nothing more to do.
func (c *command) parse(args []string) (code int, done bool) {
	flags := flag.NewFlagSet("lockgen", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the messages are ours
	flags.Usage = func() {}
	flags.BoolVar(&c.check, "check", false, "")
	flags.BoolVar(&c.json, "json", false, "")
	flags.BoolVar(&c.verbose, "v", false, "")
	flags.StringVar(&c.tags, "tags", "", "")
	flags.StringVar(&c.out, "o", "", "")
	flags.StringVar(&c.explain, "explain", "", "")
	from := flags.String("from", "", "")
	flags.StringVar(&c.graph, "graph", "", "")
	c.list = len(args) > 0 && args[0] == "list"
	if c.list {
		args = args[1:]
	}
	version := flags.Bool("version", false, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(c.stdout, usage)
		return exitOK, true
	case err != nil:
		return c.misused(err.Error()), true
	case *version:
		fmt.Fprintln(c.stdout, "lockgen", files.Version())
		return exitOK, true
	}
	if c.list && (c.check || c.explain != "" || c.out != "") || !c.list && *from+c.graph != "" {
		return c.misused("-check, -explain and -o are not for list, and -from and -graph are for list only"), true
	}
	if err := c.checkGraph(*from); err != nil {
		return c.misused(err.Error()), true
	}
	if c.explain != "" {
		return c.explainKind(), true
	}
	if err := c.setFrom(*from); err != nil {
		return c.misused(err.Error()), true
	}
	if err := files.CheckTags(c.tags); err != nil {
		return c.misused(err.Error()), true
	}
	c.patterns = flags.Args()
	for _, pattern := range c.patterns {
		if strings.HasPrefix(pattern, "-") {
			return c.misused(fmt.Sprintf("flag %s stands behind the packages: flags come first", files.Name(pattern))), true
		}
	}
	if len(c.patterns) == 0 {
		c.patterns = []string{"."}
	}
	return 0, false
}

func (c *command) misused(what string) int {
	fmt.Fprintf(c.stderr,
		"lockgen: %s\nThe flags are -check, -explain kind, -json, -o path, -tags list, -v and -version. Run lockgen -h for what they "+
			"do.\n", files.Line(what))
	return exitFailed
}

func (c *command) generate(ctx context.Context) (int, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // the go command and lockgen have to call every file by the same name
	}
	if err != nil {
		return exitFailed, fmt.Errorf("lockgen: %w", err)
	}
	cfg := gen.Config{Dir: dir, Patterns: c.patterns, Tags: c.tags, Env: os.Environ(), Out: c.out, Collisions: c.check,
		Logf: c.logf, Warnf: c.warnf}
	if c.graph != "" {
		return c.printGraph(ctx, cfg)
	}
	if c.list {
		return c.printList(ctx, cfg)
	}
	result, err := gen.Generate(ctx, cfg)
	if err != nil {
		return exitFailed, err
	}
	if len(result.Problems) > 0 {
		return exitFailed, c.refuse(result.Problems)
	}
	if c.check {
		return c.compare(dir, result)
	}
	if !c.mayWrite() {
		return exitFailed, errInterrupted
	}
	done, err := gen.Commit(result.Files)
	for _, f := range done {
		c.logf("%s %s", f.Action(), files.Name(f.Path))
	}
	if err = errors.Join(err, gen.Clean(result.Leftovers)); err != nil {
		return exitFailed, err
	}
	if c.json {
		return exitOK, c.report(nil, gen.Summary(dir, result.Files, gen.File.Action))
	}
	return exitOK, nil
}

// refuse prints problems.
func (c *command) refuse(problems []problem.Problem) error {
	if c.json {
		return c.report(problems, nil)
	}
	problem.Print(c.stderr, problems)
	return nil
}

// compare is what -check does.
func (c *command) compare(dir string, result *gen.Result) (int, error) {
	all := result.Files
	diffs := c.stdout
	if c.json {
		diffs = io.Discard
	}
	stale, err := gen.Check(diffs, dir, all)
	if c.json {
		err = errors.Join(err, c.report(result.Collisions, gen.Summary(dir, all, gen.File.State)))
	} else {
		problem.Print(c.stderr, result.Collisions)
	}
	switch {
	case err != nil:
		return exitFailed, fmt.Errorf("lockgen: print the differences: %w", err)
	case !stale && len(result.Collisions) == 0:
		return exitOK, nil
	case !stale:
		return exitStale, nil
	}
	fmt.Fprintf(c.stderr, "lockgen: generated files are not up to date: run lockgen %s\n", files.Names(c.patterns))
	return exitStale, nil
}

// report prints problems and files as JSON.
func (c *command) report(problems []problem.Problem, states []gen.FileState) error {
	e := json.NewEncoder(c.stdout)
	e.SetIndent("", "\t")
	e.SetEscapeHTML(false)
	if problems == nil {
		problems = []problem.Problem{}
	}
	if states == nil {
		states = []gen.FileState{}
	}
	return e.Encode(struct {
		Problems []problem.Problem `json:"problems"`
		Files    []gen.FileState   `json:"files"`
	}{problems, states})
}

func (c *command) warnf(format string, args ...any) {
	fmt.Fprintln(c.stderr, files.Line(fmt.Sprintf("lockgen: warning: "+format, args...)))
}

func (c *command) logf(format string, args ...any) {
	if c.verbose {
		fmt.Fprintln(c.stderr, files.Line(fmt.Sprintf("lockgen: "+format, args...)))
	}
}
