package etcdtest

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testetcd"
)

// The example runs on locks in etcd with jobs in SQLite, and in Redis. A process is killed, and each tick has its run.
func TestExample_cluster(t *testing.T) {
	t.Parallel() // it waits more than it works
	command := filepath.Join(t.TempDir(), "cluster")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", command, "./cluster")
	build.Dir = filepath.Join("..", "..", "..", "examples", "sql")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("sqlite", func(t *testing.T) {
		runExample(t, command, "sqlite:"+filepath.Join(t.TempDir(), "jobs.db"))
	})
	t.Run("redis", func(t *testing.T) { runExample(t, command, "redis://"+testenv.Redis(t).Addr()) })
}

func runExample(t *testing.T, command, jobs string) {
	t.Helper()
	c := start(t, 1, testetcd.Options{})
	run := exec.CommandContext(t.Context(), command, "-store", c.URL(), "-for", "10s", "-kill", "4s", "-jobs", jobs,
		"-addr", "127.0.0.1:0")
	var stderr bytes.Buffer
	run.Stderr = &stderr
	out, err := run.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	summary := regexp.MustCompile(`^ticks=[1-9]\d* runs=\d+ duplicates=0 missed=0 lost=\d+$`)
	if err != nil || !summary.MatchString(lines[len(lines)-1]) || !strings.Contains(string(out), "killed with SIGKILL") {
		t.Errorf("%v\n%s%s", err, out, stderr.String())
	}
	t.Log(lines[len(lines)-1])
}
