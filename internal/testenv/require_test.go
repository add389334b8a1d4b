package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A name that stands for no server fails a test that would skip, and says which names there are.
func TestRedis_unknownServerRequired(t *testing.T) {
	t.Setenv(redisEnv, filepath.Join(t.TempDir(), "no-redis-here"))
	for list, want := range map[string]outcome{
		"etcd":           {skipped: true},
		"etcd, reids":    {failed: true},
		"zookeper":       {failed: true},
		"postgres, ,":    {skipped: true},
		"redis,postgres": {failed: true}, // it is known, and missing
	} {
		t.Setenv(requireEnv, list)
		var got outcome
		var wg sync.WaitGroup
		wg.Go(func() { Redis(&got) })
		wg.Wait()
		if got.failed != want.failed || got.skipped != want.skipped {
			t.Errorf("%s=%q: failed %v, skipped %v", requireEnv, list, got.failed, got.skipped)
		}
	}
}

func TestUnknownServer(t *testing.T) {
	t.Setenv(requireEnv, "redis,zookeper")
	err := unknownServer()
	for _, want := range append(slices.Clone(servers), `"zookeper"`, requireEnv) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

// The scripts know the same names. They refuse others before they do anything.
func TestUnknownServer_scripts(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile("../../.ci/servers")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nknown='" + strings.Join(servers, " ") + "'\n"; !strings.Contains(string(text), want) {
		t.Errorf(".ci/servers has no line %q", want)
	}
	for _, script := range []string{"install", "test"} {
		cmd := exec.Command(bash, "../../.ci/"+script)
		cmd.Env = append(os.Environ(), requireEnv+"=redis, zookeper")
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "zookeper") ||
			!strings.Contains(string(out), strings.Join(servers, ", ")) {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}
