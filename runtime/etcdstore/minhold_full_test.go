package etcdstore

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// MinHold in a database that has reached its quota. This file has one in memory; etcdtest has a real one.

// fullStore is what the lines of a session have in common whose database is full now and then.
type fullStore struct {
	full    atomic.Bool // it takes deletions alone
	grants  atomic.Bool // but still grants leases
	applies atomic.Bool // it does what it refuses, as etcd does with the request that fills it
	refused func()      // called behind that
	line    *fakeLine
}

// openFull is a session at such a database. Others who share the fake find it as it is.
func openFull(t *testing.T, e *fakeEtcd, full *fullStore) *session {
	t.Helper()
	line := newFakeLine(e)
	full.line = line
	s := openSession(t, line, fullKV{line, full}, func(string, error) {})
	s.client.Lease = fullLeases{s.client.Lease.(fakeLeases), full}
	return s
}

type fullKV struct {
	*fakeLine
	store *fullStore
}

func putsAny(ops []*pb.RequestOp) bool {
	return slices.ContainsFunc(ops, func(op *pb.RequestOp) bool {
		return op.GetRequestPut() != nil || op.GetRequestTxn() != nil && putsAny(op.GetRequestTxn().Success)
	})
}

func (x fullKV) Txn(ctx context.Context, r *pb.TxnRequest, o ...grpc.CallOption) (*pb.TxnResponse, error) {
	if x.store.full.Load() && putsAny(r.Success) {
		if x.store.applies.Load() {
			_, _ = x.fakeLine.Txn(ctx, r, o...)
		}
		if x.store.refused != nil {
			x.store.refused()
		}
		return nil, rpctypes.ErrNoSpace
	}
	return x.fakeLine.Txn(ctx, r, o...)
}

type fullLeases struct {
	fakeLeases
	store *fullStore
}

func (x fullLeases) Grant(ctx context.Context, ttl int64) (*etcd.LeaseGrantResponse, error) {
	if x.store.full.Load() && !x.store.grants.Load() {
		return nil, rpctypes.ErrNoSpace
	}
	return x.fakeLeases.Grant(ctx, ttl)
}

// A lease is broken, then the database is full, and it is released with MinHold before the session has heard of the Break.
func TestMinHold_full_broken(t *testing.T) {
	for _, presumed := range []bool{false, true} {
		for _, doubt := range []bool{false, true} {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				var full fullStore
				line := newFakeLine(e)
				s, other := openFull(t, e, &full), openSession(t, line, line, func(string, error) {})
				s.client.Watcher = lateWatch{s.client.Watcher.(fakeWatcher), 5 * time.Second}
				grant := mustTake(t, s, "k", "a")
				time.Sleep(time.Second)
				if doubt {
					withDoubt(s, "a")
				}
				if presumed {
					s.lose(s.leases["a"].class, presumption{rpctypes.ErrLeaseNotFound})
				}
				broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test"}
				if err := other.Break(t.Context(), broken); err != nil {
					t.Fatal(err)
				}
				full.full.Store(true)
				err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Hour})
				time.Sleep(20 * time.Second)
				full.full.Store(false)
				_, got := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "b", TTL: time.Minute})
				if got != nil {
					t.Errorf("presumed %t, doubt %t: it was broken, its release says %v, and 20 s later: %v", presumed, doubt, err, got)
				}
				if err == nil {
					t.Errorf("presumed %t, doubt %t: it was broken, and its release says that it is kept", presumed, doubt)
				}
				_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"})
				time.Sleep(2 * time.Hour)
				endBoth(t, e, s, other)
			})
		}
	}
}

// The database is full between the grant of the lease of etcd and the request that keeps the lock.
func TestMinHold_full_betweenGrantAndPut(t *testing.T) {
	for _, applied := range []bool{false, true} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			var full fullStore
			full.applies.Store(applied)
			full.grants.Store(true)
			line := newFakeLine(e)
			s, other := openFull(t, e, &full), openSession(t, line, line, func(string, error) {})
			mustTake(t, s, "k", "a")
			time.Sleep(time.Second)
			full.full.Store(true)
			began := time.Now()
			err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: 10 * time.Second})
			full.grants.Store(false)
			if err != nil {
				t.Errorf("applied %t: a full database takes it as it is, and the release says: %v (lost: %t)", applied, err, errors.Is(err, lockrt.ErrLost))
			}
			_, err = other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "b", TTL: time.Minute, Wait: time.Hour})
			if took := time.Since(began); err != nil || took < 10*time.Second-50*time.Millisecond || took > 25*time.Second {
				t.Errorf("applied %t: next after %s: %v", applied, took, err)
			}
			_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"})
			full.full.Store(false)
			time.Sleep(2 * time.Hour)
			endBoth(t, e, s, other)
		})
	}
}

// The request that keeps a lock fills the database, and is done. MinHold is over before there is another answer.
func TestMinHold_full_overInSilence(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		newLimits()
		defer newLimits()
		e := newFakeEtcd()
		var full fullStore
		full.applies.Store(true)
		full.grants.Store(true)
		s := openFull(t, e, &full)
		full.refused = func() {
			began := time.Now()
			full.line.set("reads are lost", func() fate { return fate{mute: time.Since(began) < attemptTime/2, back: time.Millisecond} })
		}
		mustTake(t, s, "k", "a")
		full.full.Store(true)
		err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Second})
		if err == nil || errors.Is(err, lockrt.ErrLost) {
			t.Errorf("it was kept for as long as it was to be: %v", err)
		}
		full.full.Store(false)
		time.Sleep(time.Minute)
		endBoth(t, e, s)
	})
}

// The contender has gone, the database is full, and its lease is released with MinHold: it is not kept.
func TestMinHold_full_gone(t *testing.T) {
	for _, force := range []bool{false, true} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			var full fullStore
			line := newFakeLine(e)
			s, other := openFull(t, e, &full), openSession(t, line, line, func(string, error) {})
			s.client.Watcher = lateWatch{s.client.Watcher.(fakeWatcher), 5 * time.Second}
			grant := mustTake(t, s, "k", "a")
			time.Sleep(time.Second)
			if force {
				broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test", Force: true}
				if err := other.Break(t.Context(), broken); err != nil {
					t.Fatal(err)
				}
			} else if _, err := s.client.Delete(t.Context(), s.leases["a"].me); err != nil {
				t.Fatal(err)
			}
			mustTake(t, other, "k", "b") // before the database is full
			full.full.Store(true)
			if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Hour}); !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("force %t: somebody else has the lock, and its release with MinHold says: %v", force, err)
			}
			full.full.Store(false)
			_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"})
			time.Sleep(2 * time.Hour)
			endBoth(t, e, s, other)
		})
	}
}

// A lease that was presumed to be lost is released with MinHold in a full database, and broken when that takes writes again.
func TestMinHold_full_brokenAfter(t *testing.T) {
	for _, presumed := range []bool{false, true} {
		testsync.Bubble(t, func(t *testing.T) {
			newLimits()
			defer newLimits()
			e := newFakeEtcd()
			var full fullStore
			line := newFakeLine(e)
			s, other := openFull(t, e, &full), openSession(t, line, line, func(string, error) {})
			grant := mustTake(t, s, "k", "a")
			time.Sleep(time.Second)
			if presumed {
				s.lose(s.leases["a"].class, presumption{rpctypes.ErrLeaseNotFound})
			}
			full.full.Store(true)
			if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: 4 * time.Minute}); err != nil {
				t.Error(err)
			}
			full.full.Store(false)
			time.Sleep(10 * time.Second)
			broken := lockrt.Breaking{Key: "k", ID: "a", Fence: lockrt.FenceOf(grant.Epoch), Reason: "test"}
			if err := other.Break(t.Context(), broken); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Second)
			if _, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "b", TTL: time.Minute}); err != nil {
				t.Errorf("presumed %t: it was broken: %v", presumed, err)
			}
			_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"})
			time.Sleep(2 * time.Hour)
			endBoth(t, e, s, other)
			if len(s.returning) > 0 {
				t.Error("releases that never end")
			}
		})
	}
}

// A release with MinHold goes on in a full database, its session closes, and another one waits. Nothing of it ends early.
func TestMinHold_full_closed(t *testing.T) {
	for after := time.Duration(0); after < 90*time.Second; after += 30 * time.Second {
		for _, doubt := range []bool{false, true} {
			testsync.Bubble(t, func(t *testing.T) {
				newLimits()
				defer newLimits()
				e := newFakeEtcd()
				var full fullStore
				line := newFakeLine(e)
				s, other := openFull(t, e, &full), openSession(t, line, line, func(string, error) {})
				mustTake(t, s, "k", "a")
				if doubt {
					withDoubt(s, "a")
				}
				full.full.Store(true)
				began := time.Now()
				if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "a", Keep: time.Minute}); err != nil {
					t.Error(err)
				}
				time.Sleep(after)
				if err := s.Close(context.Background()); err != nil {
					t.Error(err)
				}
				_, err := other.Acquire(t.Context(), lockrt.Request{Key: "k", ID: "b", TTL: time.Minute, Wait: time.Hour})
				if took := time.Since(began); err != nil || took < time.Minute-50*time.Millisecond {
					t.Errorf("closed after %s: after %s: %v", after, took, err)
				}
				_ = other.Release(t.Context(), lockrt.Release{Key: "k", ID: "b"})
				time.Sleep(2 * time.Hour)
				endBoth(t, e, other)
			})
		}
	}
}
