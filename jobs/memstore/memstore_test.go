package memstore_test

import (
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/memstore"
	"github.com/lockgen/lockgen/jobs/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) jobs.Store { return memstore.New() })
}

// The clock is set back, and the answer to the next heartbeat is lost.
func TestStore_Heartbeat_clockSetBack(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, stamp := memstore.NewAt(func() time.Time { return now }), ""
	heartbeat := func() string {
		t.Helper()
		r, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: "s", Lease: time.Minute, Stamp: stamp})
		if err != nil || r.Lost {
			t.Errorf("%+v, %v; want nothing lost", r, err)
		}
		return r.Stamp
	}
	stamp = heartbeat()
	now = now.Add(-30 * time.Second)
	_ = heartbeat()
	_ = heartbeat()
}
