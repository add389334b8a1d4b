package testmodule

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const version = "v0.9.0"

// command runs a program in a folder and returns what it printed on standard output.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, env, name, args...)
	if err != nil {
		t.Fatalf("%s %s in %s: %v", name, strings.Join(args, " "), dir, err)
	}
	return out
}

func try(t *testing.T, dir string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(err, errors.New(stderr.String()))
	}
	return string(out), err
}

// git is the environment in which git knows who it is, and no settings of the machine.
var git = []string{
	"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test",
	"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GOWORK=off",
}

// copyTree makes a repository of the project's files as they are now.
func copyTree(t *testing.T) (dir string) {
	t.Helper()
	root, err := projectRoot()
	if err != nil {
		t.Fatal(err)
	}
	list, err := try(t, root, nil, "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard")
	if err != nil {
		t.Skipf("needs git, and the project in a repository: %v", err)
	}
	dir = t.TempDir()
	for _, name := range strings.Split(strings.TrimSuffix(list, "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not yet so in the index
		}
		text, readErr := os.ReadFile(filepath.Join(root, name))
		if err := errors.Join(err, readErr, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	command(t, dir, git, "git", "init", "-q", "-b", "main")
	commit(t, dir)
	return dir
}

func commit(t *testing.T, dir string) {
	t.Helper()
	command(t, dir, git, "git", "add", "-A", "-f")
	command(t, dir, git, "git", "commit", "-q", "-m", "a tree")
}

func published(t *testing.T, tree string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tree, ".ci", "published"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// importable are the packages of a module that others can import and that have more than a comment.
func importable(t *testing.T, dir string) (paths []string) {
	t.Helper()
	const format = `{{if ne .Name "main"}}{{.ImportPath}} {{join .GoFiles " "}}{{end}}`
	for line := range strings.Lines(command(t, dir, git, "go", "list", "-f", format, "./...")) {
		fields := strings.Fields(line)
		if len(fields) > 1 && !slices.Equal(fields[1:], []string{"doc.go"}) &&
			!slices.Contains(strings.Split(fields[0], "/"), "internal") {
			paths = append(paths, fields[0])
		}
	}
	return paths
}

// A nested module that users can import is released, and no other. Examples are there to be read.
func TestPublished_listsWhatUsersImport(t *testing.T) {
	root, err := projectRoot()
	if err != nil {
		t.Fatal(err)
	}
	listed := published(t, root)
	for _, dir := range nestedModules(root) {
		name, err := filepath.Rel(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		if strings.HasPrefix(name, "examples/") {
			continue
		}
		if paths := importable(t, dir); (len(paths) > 0) != slices.Contains(listed, name) {
			t.Errorf("%s: importable packages %v; listed in .ci/published: %v", name, paths, slices.Contains(listed, name))
		}
	}
}

// The script of a release is run on a copy of this tree. What it tags is served by a proxy, and users of each module,
// who have nothing else, build.
func TestRelease_modulesWorkFromOutside(t *testing.T) {
	tree := copyTree(t)
	release := filepath.Join(".ci", "release")
	for want, args := range map[string][]string{
		"usage": nil, "no version": {"0.9"}, "no section: ## " + version: {version},
	} {
		if _, err := try(t, tree, git, release, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("release %v: %v, want %q", args, err, want)
		}
	}
	changelog := filepath.Join(tree, "CHANGELOG.md")
	if err := os.WriteFile(changelog, []byte("# Changelog\n\n## "+version+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := try(t, tree, git, release, version); err == nil || !strings.Contains(err.Error(), "has changes") {
		t.Errorf("release of a changed tree: %v", err)
	}
	commit(t, tree)
	command(t, tree, git, release, version)
	if _, err := try(t, tree, git, release, version); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("the same release again: %v", err)
	}
	modules := published(t, tree)
	wantTags := []string{version}
	for _, m := range modules {
		wantTags = append(wantTags, path.Join(m, version))
	}
	slices.Sort(wantTags)
	if tags := strings.Fields(command(t, tree, git, "git", "tag", "--points-at", "HEAD")); !slices.Equal(tags, wantTags) {
		t.Errorf("tags %v, want %v", tags, wantTags)
	}

	env, err := ServeTree(t.TempDir(), tree, version)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		t.Run(m, func(t *testing.T) {
			dir := consumer(t, env, importable(t, filepath.Join(tree, m))...)
			command(t, dir, env, "go", "build", "-o", os.DevNull, ".")
		})
	}
	t.Run("modules of a program with locks and jobs", func(t *testing.T) { testModuleList(t, env) })
}

// consumer makes a program outside that imports packages, with the newest versions that there are.
func consumer(t *testing.T, env []string, imports ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	text := "package main\n\n"
	for _, path := range imports {
		text += "import _ \"" + path + "\"\n"
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text+"\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, dir, env, "go", "mod", "init", "example.test/consumer")
	command(t, dir, env, "go", "mod", "tidy")
	for line := range strings.Lines(command(t, dir, env, "go", "list", "-m", "all")) {
		if name, got, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, project) && got != version {
			t.Errorf("the program gets %s %s, want %s", name, got, version)
		}
	}
	return dir
}

// Whoever requires a module has the requirements of its tests in the list of modules, too. What that list holds may
// change, but not unnoticed: LOCKGEN_UPDATE=1 writes it anew. It is no place for database drivers and embedded servers.
func testModuleList(t *testing.T, env []string) {
	dir := consumer(t, env, project+"/jobs", project+"/runtime", project+"/runtime/redisstore")
	got := command(t, dir, env, "go", "list", "-m", "-f", "{{if not .Main}}{{.Path}}{{end}}", "all")
	got = strings.TrimLeft(got, "\n")
	file := filepath.Join("testdata", "modules.txt")
	if os.Getenv("LOCKGEN_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("go list -m all of a user gives\n%swant\n%sif that is meant, run this test with LOCKGEN_UPDATE=1", got, want)
	}
}
