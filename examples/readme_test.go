package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
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
// signal, and so are tests. The folder that an error names is the page, and the line
// on which the snippet begins there.
func TestReadme_snippetsCompile(t *testing.T) {
	m := newModule(t)
	var all []added
	for _, name := range texts(t) {
		found := snippets(read(t, name))
		if len(found) == 0 && name == "../README.md" {
			t.Fatal("the README has no Go at all")
		}
		for _, s := range found {
			page := strings.TrimSuffix(filepath.Base(name), ".md")
			all = append(all, m.add(t, fmt.Sprintf("%s_line%d", page, s.line), s))
		}
	}
	if out, err := m.check(all...); err != nil {
		t.Errorf("%v\n%s", err, out)
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
	out, err := run("..", m.lockgen, "list", "-from", "2026-01-31T12:00:00Z", "./examples/...")
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
		out, err := run(dir, m.lockgen, ".")
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
	invented := regexp.MustCompile(`NAME|ll4005`)
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
	if _, err := (snippet{code: "if {"}).file(); err == nil {
		t.Error("a syntax error passes")
	}
	for name, code := range map[string]string{
		"no such name":  "lockrt.NoSuchName()\n",
		"wrong type":    "var n int = locks.Node()\n_ = n\n",
		"bad directive": "//lock:key=a:{nobody},ttl=30s\nfunc aLocked(ctx context.Context) error { return nil }\n",
		"no wrapper":    "//lock:key=a,ttl=30s\nfunc aLocked(ctx context.Context) error { return nil }\n\nvar _ = b\n",
		"test":          "package main\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Fail() }\n",
		"panics":        "package main\n\nfunc main() { panic(1) }\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := strings.ReplaceAll(name, " ", "_")
			if out, err := m.check(m.add(t, dir, snippet{code: code})); err == nil {
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
type module struct{ dir, lockgen string }

// builtLockgen is the command, built once.
var builtLockgen = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "lockgen")
	out, err := run("..", "go", "build", "-o", path, "./cmd/lockgen")
	if err != nil {
		return "", fmt.Errorf("build lockgen: %w\n%s", err, out)
	}
	return path, nil
})

// scratch is removed after the tests.
var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "lockgen-examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func newModule(t *testing.T) *module {
	t.Helper()
	lockgen, err := builtLockgen()
	if err != nil {
		t.Fatal(err)
	}
	m := &module{dir: t.TempDir(), lockgen: lockgen}
	if err := testmodule.Init(m.dir, "example.test/readme"); err != nil {
		t.Fatal(err)
	}
	return m
}

// added is a snippet in a package of its own.
type added struct {
	pkg                  string // ./name
	hasDirective, isTest bool
	isProgram            bool // that ends by itself
}

// add puts a snippet into a package.
func (m *module) add(t *testing.T, name string, s snippet) added {
	t.Helper()
	text, err := s.file()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, s.code)
	}
	dir := filepath.Join(m.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file, program := "snippet.go", text
	if s.isTest() {
		file, program = "snippet_test.go", programOf(t, s)
		write(t, filepath.Join(dir, "main.go"), program)
	}
	write(t, filepath.Join(dir, file), text)
	return added{
		pkg: "./" + name, hasDirective: strings.Contains(program, "//lock:"), isTest: s.isTest(),
		isProgram: strings.HasPrefix(text, "package main\n") && !s.isTest() &&
			!strings.Contains(text, "signal.NotifyContext"),
	}
}

// check generates, vets, tests and runs snippets, each command for all of them together.
func (m *module) check(all ...added) (output string, err error) {
	packages := func(which func(added) bool) (pkgs []string) {
		for _, a := range all {
			if which(a) {
				pkgs = append(pkgs, a.pkg)
			}
		}
		return pkgs
	}
	programs := packages(func(a added) bool { return a.isProgram })
	for _, step := range []struct {
		command string
		args    []string
		on      []string
	}{
		{m.lockgen, nil, packages(func(a added) bool { return a.hasDirective })},
		{"go", []string{"vet"}, packages(func(added) bool { return true })},
		{"go", []string{"test"}, packages(func(a added) bool { return a.isTest })},
		{"go", []string{"build", "-o", "bin/"}, programs},
	} {
		if len(step.on) == 0 {
			continue
		}
		if out, err := run(m.dir, step.command, append(step.args, step.on...)...); err != nil {
			return out, fmt.Errorf("%s %s: %w", filepath.Base(step.command), strings.Join(step.args, " "), err)
		}
	}
	for _, pkg := range programs {
		if out, err := run(m.dir, filepath.Join(m.dir, "bin", pkg)); err != nil {
			return out, fmt.Errorf("run %s: %w", pkg, err)
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

func run(dir, name string, args ...string) (string, error) {
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
