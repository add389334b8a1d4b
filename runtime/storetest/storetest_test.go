package storetest_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

// A suite proves something about stores only if it finds what is wrong with bad ones. Each fault is built into the
// memory store; the test binary runs one test of the suite on that in a process of its own, which must fail, and for the
// right reason.

// faultEnv names the fault of the process that fails.
const faultEnv = "STORETEST_FAULT"

func TestMain(m *testing.M) {
	if os.Getenv(faultEnv) != "" {
		testsync.Patience = time.Second
		os.Exit(m.Run()) // bad stores leave all kinds of things behind
	}
	goleak.VerifyTestMain(m)
}

func TestRun_findsFaults(t *testing.T) {
	all := maps.Clone(faults)
	maps.Copy(all, shareFaults)
	maps.Copy(all, severalFaults)
	if name := os.Getenv(faultEnv); name != "" {
		storetest.Run(t, func(*testing.T) lockrt.Store { return badStore{memstore.New(), all[name]} })
		return
	}
	for name, f := range all {
		t.Run(name, func(t *testing.T) {
			path := "^" + t.Name()[:strings.IndexByte(t.Name(), '/')] + "$/^" + strings.ReplaceAll(f.test, "/", "$/^") + "$"
			failing := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+path, "-test.timeout=2m")
			failing.Env = append(os.Environ(), faultEnv+"="+name)
			out, err := failing.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), "/"+f.test) || !strings.Contains(string(out), f.says) {
				t.Errorf("%s does not find it and say %q; it ended with %v:\n%s", f.test, f.says, err, out)
			}
		})
	}
}

func TestRun_passesSoundStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) lockrt.Store { return badStore{memstore.New(), fault{}} })
}

func TestRun_passesSoundStoreThatDoesNotShare(t *testing.T) {
	storetest.Run(t, func(*testing.T) lockrt.Store { return aloneStore{memstore.New()} })
}
