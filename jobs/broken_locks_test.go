package jobs_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// brokenLocks is a store of locks that gives none, as long as it is told to.
type brokenLocks struct {
	*memstore.Store
	why    error
	breaks atomic.Bool
}

func (s *brokenLocks) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	session, err := s.Store.Open(cfg)
	return &brokenSession{session, s}, err
}

type brokenSession struct {
	lockrt.Session
	store *brokenLocks
}

func (s *brokenSession) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if s.store.breaks.Load() {
		return lockrt.Grant{}, s.store.why
	}
	return s.Session.Acquire(ctx, req)
}

// A store of locks whose error has a nil *BusyError in it has not said who holds the lock, or that anybody does. The
// process goes on, and so do the runs when the store is whole.
func TestScheduler_brokenStoreOfLocks(t *testing.T) {
	t.Parallel()
	for name, why := range map[string]error{"wraps nil": &wrapsNil[*lockrt.BusyError]{}, "As is true": isAnything{}} {
		for _, overlap := range []Overlap{OverlapSkip, OverlapReplace} {
			t.Run(name+" "+string(overlap), func(t *testing.T) {
				testsync.Bubble(t, func(t *testing.T) {
					store := &brokenLocks{Store: memstore.New(), why: why}
					quiet := slog.New(slog.DiscardHandler)
					locks, err := lockrt.New(store, lockrt.Config{Node: "n", Logger: quiet})
					if err != nil {
						t.Fatal(err)
					}
					defer locks.Close(context.Background())
					s, err := New(locks, Config{Store: jobmem.New(), Logger: quiet})
					if err != nil {
						t.Fatal(err)
					}
					var runs atomic.Int32
					work := func(context.Context) error { runs.Add(1); return nil }
					if err := s.Add(Job{Name: "j", Spec: "*/10 * * * * *", Overlap: overlap, Run: work}); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(context.Background())
					ended := make(chan error)
					go func() { ended <- s.Run(ctx) }()
					store.breaks.Store(true)
					time.Sleep(25 * time.Second)
					if err := s.Err(); err == nil || !strings.Contains(err.Error(), "the store of locks has returned an error of type") {
						t.Errorf("Err = %v, want what the store of locks has done", err)
					}
					store.breaks.Store(false)
					time.Sleep(25 * time.Second)
					if n := runs.Load(); n < 4 {
						t.Errorf("%d runs in 50 s, want one each 10 s, the first ones late", n)
					}
					cancel()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}
