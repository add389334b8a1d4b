package jobstest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// fatalT is a test that notes what it is ended with.
type fatalT struct {
	*testing.T
	said string
}

func (t *fatalT) Fatalf(format string, args ...any) {
	t.said = fmt.Sprintf(format, args...)
	panic(t)
}

// TestNode_Start_again starts nodes again that were started before or have crashed: the test ends with what to do.
func TestNode_Start_again(t *testing.T) {
	t.Parallel()
	for _, crash := range []bool{false, true} {
		jobstest.Run(t, func(t *testing.T, _ *jobstest.Cluster) {
			watched := &fatalT{T: t}
			c := jobstest.New(watched)
			n := c.Node(jobs.Config{}, 0)
			n.Start()
			if crash {
				n.Crash()
			}
			func() {
				defer func() { _ = recover() }()
				n.Start()
			}()
			if !strings.Contains(watched.said, "Cluster.Node") {
				t.Errorf("crashed %t: a second Start ended the test with %q", crash, watched.said)
			}
			c.Stop()
		})
	}
}

// TestNode_Stop_again stops a node once more that could not release its lock when it was stopped: that is forgiven for good.
func TestNode_Stop_again(t *testing.T) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(jobs.Config{}, 0)
		if _, err := n.Locker().Acquire(t.Context(), "k", lockrt.Options{TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		n.SilenceLocks(true)
		n.Stop()
		n.SilenceLocks(false)
		n.Stop()
	})
}
