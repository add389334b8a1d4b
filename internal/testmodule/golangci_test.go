package testmodule

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golangciShop has a lock that is released without asking whose it is (LL2002), under a value that is the same for all
// (LL2003).
const golangciShop = `package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	ctx, client := context.Background(), redis.NewClient(&redis.Options{})
	if ok, _ := client.SetNX(ctx, "lock:stock", "1", time.Minute).Result(); !ok {
		return
	}
	client.Del(ctx, "lock:stock")
}
`

// What the documentation of the plugin says is done by somebody who has nothing but golangci-lint's sources and a proxy
// that serves a release of this tree: golangci-lint custom builds a program, and that reports the lock once. It
// compiles golangci-lint twice, so it needs LOCKGEN_SOAK=1.
func TestGolangci_custom(t *testing.T) {
	if os.Getenv("LOCKGEN_SOAK") == "" {
		t.Skip("takes minutes: set LOCKGEN_SOAK=1")
	}
	tree := copyTree(t)
	plugin, settings := golangciText(t, tree)
	lint := golangciVersion(t, plugin)
	changelog := filepath.Join(tree, "CHANGELOG.md")
	if err := os.WriteFile(changelog, []byte("# Changelog\n\n## "+version+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	commit(t, tree)
	command(t, tree, git, filepath.Join(".ci", "release"), version)
	env, err := ServeTree(t.TempDir(), tree, version)
	if err != nil {
		t.Fatal(err)
	}

	// golangci-lint clones itself: here from what the go command has downloaded.
	sources := downloaded(t, "github.com/golangci/golangci-lint/v2", lint)
	clone := t.TempDir()
	if err := os.CopyFS(clone, os.DirFS(sources)); err != nil {
		t.Fatal(err)
	}
	command(t, clone, git, "chmod", "-R", "u+w", ".")
	command(t, clone, git, "git", "init", "-q", "-b", "main")
	commit(t, clone)
	command(t, clone, git, "git", "tag", lint)
	env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+clone+".insteadOf",
		"GIT_CONFIG_VALUE_0=https://github.com/golangci/golangci-lint.git")

	dir := consumer(t, env, "github.com/redis/go-redis/v9")
	for name, text := range map[string]string{"main.go": golangciShop, ".custom-gcl.yml": plugin, ".golangci.yml": settings} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golangci := filepath.Join(t.TempDir(), "golangci-lint")
	command(t, clone, env, "go", "build", "-o", golangci, "./cmd/golangci-lint")
	command(t, dir, env, golangci, "custom")
	out, err := try(t, dir, env, filepath.Join(dir, "custom-gcl"), "run", "--output.text.print-issued-lines=false", "./...")
	if err == nil {
		t.Error("it exits with 0")
	}
	for id, want := range map[string]int{"LL2002": 1, "LL2003": 0} { // the second is switched off in the settings
		if n := strings.Count(out, id); n != want {
			t.Errorf("%s is named %d times, want %d:\n%s\n%v", id, n, want, out, err)
		}
	}
}

// golangciText takes the two files out of the plugin's documentation.
func golangciText(t *testing.T, tree string) (plugin, settings string) {
	t.Helper()
	text := command(t, filepath.Join(tree, "cmd", "locklint", "golangci"), git, "go", "doc")
	var blocks []string
	inside := false
	for line := range strings.Lines(text) {
		code := strings.HasPrefix(line, "    ")
		switch {
		case code && !inside:
			blocks = append(blocks, line[4:])
		case code:
			blocks[len(blocks)-1] += line[4:]
		case strings.TrimSpace(line) == "" && inside:
			code = true
		}
		inside = code
	}
	if len(blocks) < 2 {
		t.Fatalf("the documentation has %d files, want two:\n%s", len(blocks), text)
	}
	return blocks[0], blocks[1]
}

// golangciVersion is the version of golangci-lint that a .custom-gcl.yml names.
func golangciVersion(t *testing.T, plugin string) string {
	t.Helper()
	for line := range strings.Lines(plugin) {
		if v, ok := strings.CutPrefix(line, "version: "); ok {
			return strings.TrimSpace(v)
		}
	}
	t.Fatalf("no version in\n%s", plugin)
	return ""
}

// downloaded is the folder in the module cache with the sources of a module.
func downloaded(t *testing.T, name, version string) string {
	t.Helper()
	dir := t.TempDir()
	command(t, dir, nil, "go", "mod", "init", "example.test/download")
	out := command(t, dir, nil, "go", "mod", "download", "-json", name+"@"+version)
	var got struct{ Dir string }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	return got.Dir
}
