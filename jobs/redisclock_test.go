package jobs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	. "github.com/lockgen/lockgen/jobs"
)

// clockShim moves the wall clock of a process by SKEW seconds.
const clockShim = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long skew(void) { const char *s = getenv("SKEW"); return s ? atol(s) : 0; }
int clock_gettime(clockid_t id, struct timespec *t) {
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int r = real(id, t);
	if (id == CLOCK_REALTIME) t->tv_sec += skew();
	return r;
}
int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
	int r = real(t, zone);
	t->tv_sec += skew();
	return r;
}
`

// buildShim returns a library to preload; the test is skipped where there is no C compiler.
func buildShim(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler, to build what moves a server's clock with: ", err)
	}
	source, library := filepath.Join(t.TempDir(), "skew.c"), filepath.Join(t.TempDir(), "skew.so")
	if err := os.WriteFile(source, []byte(clockShim), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, source, "-ldl").CombinedOutput(); err != nil {
		t.Skipf("%s does not build what moves a server's clock: %v: %s", cc, err, out)
	}
	return library
}

// TestScheduler_clusterClock has the clock of one of three servers be off: the jobs of each server run at each tick of
// its clock, wherever their locks are, and their records are in order.
func TestScheduler_clusterClock(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{30 * time.Second, -4 * time.Second} {
		t.Run(fmt.Sprint(skew), func(t *testing.T) {
			t.Parallel()
			const off = 1
			library := buildShim(t)
			r := newClusterRig(t, testenv.ClusterConfig{Env: func(master int) []string {
				if master != off {
					return nil
				}
				return []string{"LD_PRELOAD=" + library, fmt.Sprint("SKEW=", int(skew.Seconds()))}
			}})
			r.overlap = OverlapQueue // a machine with much to do leaves no tick out
			s := r.start()
			r.start()
			there := r.stateOn(s, off)
			elsewhere := slices.DeleteFunc(slices.Clone(r.names),
				func(name string) bool { return slices.Contains(there, name) })
			r.reach("all jobs run", elsewhere, time.Now().Add(-time.Second))
			r.reach("all jobs run", there, time.Now().Add(skew-time.Second))
			from := time.Now()
			to := from.Add(10 * time.Second)
			r.reach("the jobs on right servers run", elsewhere, to)
			r.reach("the jobs on the server that is off run", there, to.Add(skew))
			r.judge(elsewhere, from, to)
			r.judge(there, from.Add(skew), to.Add(skew))
			for _, name := range r.names {
				runs, err := s.Runs(t.Context(), name, 100)
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range runs {
					if run.Claimed.Before(run.Tick) || run.Started.Before(run.Claimed) ||
						run.Ended.Before(run.Started) {
						t.Errorf("the times of %+v are not in order", run)
					}
				}
			}
			expectSaid(t, &r.log, "clocks of the job store's servers differ", 2)
			if at := r.servers.Nodes[off].Addr(); !strings.Contains(r.log.String(), "="+at) {
				t.Errorf("the log does not name the server %s that is off", at)
			}
		})
	}
}

// stateOn returns the jobs of which the state is on a master, wherever their locks are.
func (r *clusterRig) stateOn(s *Scheduler, master int) (there []string) {
	for _, name := range r.names {
		if r.masterOf(s, stateKey(s, name)) == master {
			there = append(there, name)
		}
	}
	return there
}
