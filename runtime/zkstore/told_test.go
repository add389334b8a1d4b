package zkstore

import (
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// The client sets a watch of the session's node on each connection, and keeps those before: they are not more and more.
func TestSession_watchesOfItsNode(t *testing.T) {
	addr := OneServer(t).Addrs()[0]
	s, line := openAt(t, addr)
	other, _ := openAt(t, addr)
	grant := mustTake(t, s, "k", "a")
	conn := look(t)
	version := func() int32 {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, stat, err := conn.Get(s.present.path)
		if err != nil {
			t.Fatal(err)
		}
		return stat.Version
	}
	before := version()
	for range mostWatches + 2 {
		up := line.Accepted()
		line.Cut()
		testsync.Eventually(t, "another connection", func() bool { return line.Accepted() > up })
		time.Sleep(2 * watchLook) // a connection without a watch leaves none behind
	}
	testsync.Eventually(t, "its node has changed, which ends its watches", func() bool { return version() > before })
	broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test"}
	if err := other.Break(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	testsync.Eventually(t, "it hears what it is told", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.leases["a"] == nil
	})
}
