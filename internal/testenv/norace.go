package testenv

import (
	"os/exec"
	"strings"
	"testing"
)

// WithoutRaceDetector runs the calling test again, in a process of its own without the race detector, and returns true,
// if this process has it. It is for tests that meet a data race of a library which is not ours; why says which.
func WithoutRaceDetector(t testing.TB, why string) bool {
	t.Helper()
	if !RaceEnabled {
		return false
	}
	t.Logf("without the race detector: %s", why)
	run := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run="+run, ".").CombinedOutput()
	if err != nil {
		t.Errorf("go test -run=%s, without the race detector: %v\n%s", run, err, out)
	}
	return true
}
