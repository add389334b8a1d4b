package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"github.com/lockgen/lockgen/internal/testmodule"
)

// TestReadme_snippetsCompile generates the wrappers of every Go snippet in the
// README, in a module that uses this one as a user's does, and compiles it. A
// snippet that is a program is run as well, unless it waits for a signal.
func TestReadme_snippetsCompile(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := snippets(string(text))
	if len(found) == 0 {
		t.Fatal("the README has no Go at all")
	}
	m := newModule(t)
	for _, s := range found {
		t.Run(fmt.Sprintf("line %d", s.line), func(t *testing.T) {
			if out, err := m.check(t, s); err != nil {
				t.Errorf("README.md:%d: %v\n%s", s.line, err, out)
			}
		})
	}
}

// The translation says the same in other words: its Go is that of the README.
func TestReadme_translationHasTheSameCode(t *testing.T) {
	for _, find := range []func(string) []snippet{snippets, refused} {
		ours, theirs := find(read(t, "../README.md")), find(read(t, "../README.zh-CN.md"))
		if len(ours) != len(theirs) {
			t.Fatalf("README.md has %d snippets, README.zh-CN.md %d", len(ours), len(theirs))
		}
		for i := range ours {
			if ours[i].code != theirs[i].code {
				t.Errorf("README.zh-CN.md:%d is not the code of README.md:%d", theirs[i].line, ours[i].line)
			}
		}
	}
}

// Every declaration that the README says is refused is refused, for one reason.
func TestReadme_refusals(t *testing.T) {
	m := newModule(t)
	for _, s := range refused(read(t, "../README.md")) {
		text, err := s.file()
		if err != nil {
			t.Fatalf("README.md:%d: %v", s.line, err)
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, "go.mod"), "module example.test/refused\n\ngo 1.26\n")
		write(t, filepath.Join(dir, "refused.go"), text)
		out, err := m.run(dir, m.lockgen, ".")
		if err == nil {
			t.Errorf("README.md:%d is generated", s.line)
		}
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if !strings.HasPrefix(line, "func ") {
				continue
			}
			where := fmt.Sprintf("refused.go:%d:", i) // the directive stands in the line above
			if n := strings.Count(out, where); n != 1 {
				t.Errorf("%d problems, want one, with\n%s\n%s\nin:\n%s", n, lines[i-1], line, out)
			}
		}
	}
}

// The tables of checks in the READMEs are those of the command, in its order.
func TestReadme_listsEveryCheck(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| \[(LL\d{4})\]\(cmd/locklint/CHECKS\.md#(ll\d{4})\) \| (.+) \|$`)
	for name, off := range map[string]string{"README.md": " (off by default)", "README.zh-CN.md": "（默认关闭）"} {
		var got []string
		for _, match := range row.FindAllStringSubmatch(read(t, "../"+name), -1) {
			if strings.ToLower(match[1]) != match[2] {
				t.Errorf("%s: %s leads to %s", name, match[1], match[2])
			}
			title := match[3]
			if name != "README.md" { // the title is translated
				title = match[1] + strings.Repeat(off, strings.Count(title, off))
			}
			got = append(got, match[1]+": "+title)
		}
		var want []string
		for _, check := range lockcheck.Checks {
			title := check.Title
			if name != "README.md" {
				title = check.ID
			}
			if check.Off {
				title += off
			}
			want = append(want, check.ID+": "+title)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A check that passes everything is none.
func TestReadme_wrongSnippetsFail(t *testing.T) {
	m := newModule(t)
	for name, code := range map[string]string{
		"syntax":        "if {",
		"no such name":  "lockrt.NoSuchName()\n",
		"wrong type":    "var n int = locks.Node()\n_ = n\n",
		"bad directive": "//lock:key=a:{nobody},ttl=30s\nfunc aLocked(ctx context.Context) error { return nil }\n",
		"no wrapper":    "//lock:key=a,ttl=30s\nfunc aLocked(ctx context.Context) error { return nil }\n\nvar _ = b\n",
		"panics":        "package main\n\nfunc main() { panic(1) }\n",
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := m.check(t, snippet{code: code}); err == nil {
				t.Errorf("passes: %s", out)
			}
		})
	}
}

func TestSnippets(t *testing.T) {
	got := snippets("a\n```go\nx := 1\n```\n```sh\nls\n```\n  ```go\n\ty()\n  ```\n")
	if len(got) != 2 || got[0] != (snippet{3, "x := 1\n"}) || got[1] != (snippet{9, "\ty()\n"}) {
		t.Errorf("got %+v", got)
	}
}

// module is a user's module beside this one.
type module struct {
	dir     string
	lockgen string // the command, built once
	count   int
}

func newModule(t *testing.T) *module {
	t.Helper()
	m := &module{dir: t.TempDir(), lockgen: filepath.Join(t.TempDir(), "lockgen")}
	if err := testmodule.Init(m.dir, "example.test/readme"); err != nil {
		t.Fatal(err)
	}
	if out, err := m.run("..", "go", "build", "-o", m.lockgen, "./cmd/lockgen"); err != nil {
		t.Fatalf("build lockgen: %v\n%s", err, out)
	}
	return m
}

// check puts the snippet into a package of its own.
func (m *module) check(t *testing.T, s snippet) (output string, err error) {
	t.Helper()
	text, err := s.file()
	if err != nil {
		return s.code, err
	}
	m.count++
	dir := filepath.Join(m.dir, fmt.Sprintf("snippet%d", m.count))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "snippet.go"), text)
	if strings.Contains(text, "//lock:") {
		if out, err := m.run(dir, m.lockgen, "."); err != nil {
			return out, fmt.Errorf("lockgen: %w", err)
		}
	}
	if out, err := m.run(dir, "go", "vet", "."); err != nil {
		return out + "\nin:\n" + text, fmt.Errorf("go vet: %w", err)
	}
	if strings.HasPrefix(text, "package main\n") && !strings.Contains(text, "signal.NotifyContext") {
		if out, err := m.run(dir, "go", "run", "."); err != nil {
			return out, fmt.Errorf("go run: %w", err)
		}
	}
	return "", nil
}

func (m *module) run(dir string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
