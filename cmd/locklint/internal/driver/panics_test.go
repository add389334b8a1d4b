package driver

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// TestWatchPanics: a check that panics is told about once, with the place, and the run counts as incomplete.
func TestWatchPanics(t *testing.T) {
	before := lockcheck.OnPanic
	t.Cleanup(func() { lockcheck.OnPanic = before })
	var stderr bytes.Buffer
	p := watchPanics(&stderr)
	if code := p.exitCode(exitFindings); code != exitFindings {
		t.Errorf("without a panic the exit code is %d, want %d", code, exitFindings)
	}
	for range 2 {
		func() {
			defer func() { lockcheck.OnPanic(recover()) }()
			panic("no such block")
		}()
	}
	text := stderr.String()
	if n := strings.Count(text, "internal error"); n != 1 ||
		!strings.Contains(text, "no such block") || !strings.Contains(text, "panics_test.go") {
		t.Errorf("the panic is told about %d times:\n%s", n, text)
	}
	if code := p.exitCode(exitClean); code != exitFailed {
		t.Errorf("the exit code is %d, want %d", code, exitFailed)
	}
}
