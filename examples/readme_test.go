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

// texts are the pages whose code is tried.
func texts(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("no docs: %v", err)
	}
	return append([]string{"../README.md"}, docs...)
}

// TestReadme_snippetsCompile generates the wrappers of every Go snippet in the
// README and the docs, in a module that uses this one as a user's does, and
// compiles it. A snippet that is a program is run as well, unless it waits for a
// signal, and so are tests.
func TestReadme_snippetsCompile(t *testing.T) {
	m := newModule(t)
	for _, name := range texts(t) {
		found := snippets(read(t, name))
		if len(found) == 0 && name == "../README.md" {
			t.Fatal("the README has no Go at all")
		}
		for _, s := range found {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(name), s.line), func(t *testing.T) {
				if out, err := m.check(t, s); err != nil {
					t.Errorf("%s:%d: %v\n%s", name, s.line, err, out)
				}
			})
		}
	}
}

var han = regexp.MustCompile(`\p{Han}`)

// The translation says the same in other words: its Go is that of the README, with
// the comments in its own language.
func TestReadme_translationHasTheSameCode(t *testing.T) {
	for _, find := range []func(string) []snippet{snippets, refused} {
		ours, theirs := find(read(t, "../README.md")), find(read(t, "../README.zh-CN.md"))
		if len(ours) != len(theirs) {
			t.Fatalf("README.md has %d snippets, README.zh-CN.md %d", len(ours), len(theirs))
		}
		for i := range ours {
			want, said := split(ours[i].code)
			got, translated := split(theirs[i].code)
			if !slices.Equal(got, want) || len(translated) != len(said) {
				t.Errorf("README.zh-CN.md:%d is not the code of README.md:%d", theirs[i].line, ours[i].line)
			}
			for _, comment := range translated {
				if comment != "//" && !han.MatchString(comment) {
					t.Errorf("README.zh-CN.md:%d: not translated: %s", theirs[i].line, comment)
				}
			}
		}
	}
}

// So are its commands.
func TestReadme_translationHasTheSameCommands(t *testing.T) {
	comment := regexp.MustCompile(` +# .*`)
	var found [2][]string
	for i, name := range []string{"../README.md", "../README.zh-CN.md"} {
		for _, s := range blocks(read(t, name), "```sh") {
			found[i] = append(found[i], comment.ReplaceAllString(s.code, ""))
		}
	}
	if !slices.Equal(found[0], found[1]) {
		t.Errorf("README.md has the commands\n%q\nREADME.zh-CN.md\n%q", found[0], found[1])
	}
}

// What the README shows of lockgen list is what it prints of this project, and a part of it.
func TestReadme_list(t *testing.T) {
	m := newModule(t)
	out, err := m.run("..", m.lockgen, "list", "-from", "2026-01-31T12:00:00Z", "./examples/...")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := map[string]bool{}
	for line := range strings.Lines(out) {
		printed[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		_, rest, found := strings.Cut(read(t, "../"+name), "\nFUNCTION ")
		shown, _, _ := strings.Cut(rest, "\n```")
		if !found {
			t.Errorf("%s shows no list", name)
		}
		for line := range strings.Lines("FUNCTION " + shown) {
			if line = strings.Join(strings.Fields(line), " "); line != "" && !printed[line] {
				t.Errorf("%s: not in the list: %s", name, line)
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

// The translated table of checks has the rows of the command, in its order. (The table in English is generated.)
func TestDocs_translationListsEveryCheck(t *testing.T) {
	const off = "（默认关闭）"
	rows := regexp.MustCompile(`(?m)^\| \[(LL\d{4})\]\(\.\./cmd/locklint/CHECKS\.md#(ll\d{4})\) \| (.+) \|$`)
	var got, want []string
	for _, match := range rows.FindAllStringSubmatch(read(t, "../docs/checks.zh-CN.md"), -1) {
		if strings.ToLower(match[1]) != match[2] || !han.MatchString(match[3]) {
			t.Errorf("the row of %s leads to %s and says %s", match[1], match[2], match[3])
		}
		got = append(got, match[1]+strings.Repeat(off, strings.Count(match[3], off)))
	}
	for _, check := range lockcheck.Checks {
		row := check.ID
		if check.Off {
			row += off
		}
		want = append(want, row)
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/checks.zh-CN.md lists\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whatever the README says about checks, and wherever it leads, is there.
func TestReadme_checksExist(t *testing.T) {
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		text := read(t, "../"+name)
		for _, id := range regexp.MustCompile(`LL\d{4}`).FindAllString(text, -1) {
			if lockcheck.Lookup(id) == nil {
				t.Errorf("%s names %s, which is no check", name, id)
			}
		}
		for _, check := range []string{lockcheck.Checks[0].ID, lockcheck.Checks[len(lockcheck.Checks)-1].ID} {
			if !strings.Contains(text, check) {
				t.Errorf("%s: the ranges of checks do not name %s", name, check)
			}
		}
	}
}

// Every link to a file leads to one.
func TestReadme_links(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
	pages := append(texts(t), "../README.zh-CN.md", "../CONTRIBUTING.md", "../SECURITY.md", "../bench/README.md",
		"../cmd/lockgen/README.md")
	for _, page := range pages {
		for _, match := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), match[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// CONTRIBUTING.md sends people to files that are there. Those of things to come have invented names.
func TestContributing_paths(t *testing.T) {
	invented := regexp.MustCompile(`NAME|ll9999`)
	named := regexp.MustCompile("`((?:cmd|docs|examples|internal|jobs|runtime|\\.ci)/[\\w./*-]+|[A-Z]+(?:\\.zh-CN)?\\.md|go\\.mod)`")
	found := named.FindAllStringSubmatch(read(t, "../CONTRIBUTING.md"), -1)
	if len(found) < 30 {
		t.Errorf("only %d paths", len(found))
	}
	for _, match := range found {
		if invented.MatchString(match[1]) {
			continue
		}
		if files, err := filepath.Glob(filepath.Join("..", match[1])); err != nil || len(files) == 0 {
			t.Errorf("CONTRIBUTING.md names %s, which does not exist (%v)", match[1], err)
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
		"test":          "package main\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Fail() }\n",
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
	name, program := "snippet.go", text
	if s.isTest() {
		name, program = "snippet_test.go", programOf(t, s)
		write(t, filepath.Join(dir, "main.go"), program)
	}
	write(t, filepath.Join(dir, name), text)
	if strings.Contains(program, "//lock:") {
		if out, err := m.run(dir, m.lockgen, "."); err != nil {
			return out, fmt.Errorf("lockgen: %w", err)
		}
	}
	if out, err := m.run(dir, "go", "vet", "."); err != nil {
		return out + "\nin:\n" + text, fmt.Errorf("go vet: %w", err)
	}
	if s.isTest() {
		if out, err := m.run(dir, "go", "test", "."); err != nil {
			return out, fmt.Errorf("go test: %w", err)
		}
	} else if strings.HasPrefix(text, "package main\n") && !strings.Contains(text, "signal.NotifyContext") {
		if out, err := m.run(dir, "go", "run", "."); err != nil {
			return out, fmt.Errorf("go run: %w", err)
		}
	}
	return "", nil
}

func (s snippet) isTest() bool { return strings.Contains(s.code, "\nfunc Test") }

// programOf is the program of the README that a test is about: the one with jobs, or the first.
func programOf(t *testing.T, test snippet) string {
	t.Helper()
	for _, s := range snippets(read(t, "../README.md")) {
		if strings.Contains(s.code, "RegisterJobs(") == strings.Contains(test.code, "RegisterJobs(") {
			return s.code
		}
	}
	t.Fatal("the README has no program for this test")
	return ""
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
