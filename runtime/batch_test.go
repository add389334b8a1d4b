package lockrt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLocker_aThousandReadersAreOneHolder(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		count := store.count()
		var leases []*lockrt.Lease
		for range 1000 {
			leases = append(leases, mustAcquire(t, locks, t.Context(), "k", read))
		}
		if c, n := count(), holders(t, locks, "k"); c.acquires != 1 || n != 1 {
			t.Errorf("%d requests and %d holders, want one", c.acquires, n)
		}
		for _, lease := range leases {
			if lease.Fence() != leases[0].Fence() || lease.Err() != nil {
				t.Fatalf("fence %d beside %d, error %v", lease.Fence(), leases[0].Fence(), lease.Err())
			}
		}
		time.Sleep(10 * ttl)
		if c := count(); c.renewals < 25 || c.renewals > 50 {
			t.Errorf("%d renewals in ten times the TTL, want about thirty", c.renewals)
		}
		writer := queueing(locks, t.Context(), "k", write)
		mustRelease(t, leases[1:]...)
		writer.granted(t, false)
		if c := count(); c.releases != 0 {
			t.Errorf("%d releases while one still reads", c.releases)
		}
		mustRelease(t, leases[0])
		if w := writer.granted(t, true); w.Fence() <= leases[0].Fence() {
			t.Errorf("the writer's fence is %d after %d", w.Fence(), leases[0].Fence())
		}
		mustRelease(t, writer.lease)
	})
}

func TestLocker_readersInTheQueueEnterTogether(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		w := mustAcquire(t, locks, t.Context(), "k", write)
		count := store.count()
		var readers []*pending
		for range 100 {
			readers = append(readers, queueing(locks, t.Context(), "k", read))
		}
		next := queueing(locks, t.Context(), "k", write)
		late := queueing(locks, t.Context(), "k", read)
		mustRelease(t, w)
		for _, r := range readers {
			r.granted(t, true)
		}
		next.granted(t, false)
		late.granted(t, false)
		if n := holders(t, locks, "k"); n != 1 {
			t.Errorf("%d holders, want one for all readers", n)
		}
		for _, r := range readers {
			mustRelease(t, r.lease)
		}
		mustRelease(t, next.granted(t, true))
		mustRelease(t, late.granted(t, true))
		if c := count(); c.acquires != 3 {
			t.Errorf("%d requests, want one each for the readers, the writer and the last reader", c.acquires)
		}
	})
}

func TestLocker_localWriterClosesTheBatch(t *testing.T) {
	sharing(t, func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
		r := mustAcquire(t, locks, t.Context(), "k", read)
		w := queueing(locks, t.Context(), "k", write)
		late := queueing(locks, t.Context(), "k", read)
		late.granted(t, false)
		if _, err := locks.TryAcquire(t.Context(), "k", read); !errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("a try to read beside a writer that waits: %v, want ErrBusy", err)
		}
		mustRelease(t, r)
		mustRelease(t, w.granted(t, true))
		mustRelease(t, late.granted(t, true))
	})
}

// A writer of another process waits: readers of this one join no more, as soon as the store says so, and else when
// LocalHandoffTime has passed.
func TestLocker_writerElsewhereClosesTheBatch(t *testing.T) {
	for name, lost := range map[string]bool{"the store recalls it": false, "its call is lost": true} {
		t.Run(name, func(t *testing.T) {
			sharing(t, func(t *testing.T, store *sharingStore, other *lockrt.Locker) {
				store.noRecall = lost
				open := time.Hour
				if lost {
					open = 10 * time.Millisecond
				}
				locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: open})
				// There is always a reader: the next comes before the last goes.
				r := mustAcquire(t, locks, t.Context(), "k", read)
				w := queueing(other, t.Context(), "k", write)
				began, waited := time.Now(), 0
				for !w.done {
					next := queueing(locks, t.Context(), "k", read)
					time.Sleep(time.Millisecond)
					mustRelease(t, r)
					if synctest.Wait(); w.done {
						mustRelease(t, w.granted(t, true))
					}
					if waited++; waited > 100 {
						t.Fatal("the writer is starved")
					}
					r = next.granted(t, true)
				}
				mustRelease(t, r)
				if took := time.Since(began); !lost && took > time.Millisecond || took > 12*time.Millisecond {
					t.Errorf("the writer waited for %s", took)
				}
			})
		})
	}
}

// A batch that is closed does not keep local readers waiting for its longest member: those of other processes would
// join.
func TestLocker_closedBatchDoesNotStandInTheWay(t *testing.T) {
	sharing(t, func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
		first := mustAcquire(t, locks, t.Context(), "k", read)
		time.Sleep(time.Second) // longer than LocalHandoffTime
		second := queueing(locks, t.Context(), "k", read).granted(t, true)
		third, err := locks.TryAcquire(t.Context(), "k", read)
		if err != nil {
			t.Fatal(err)
		}
		if n := holders(t, locks, "k"); n != 2 {
			t.Errorf("%d holders, want one for each batch", n)
		}
		for _, lease := range []*lockrt.Lease{first, second, third} {
			if err := lease.Check(t.Context()); err != nil || lease.Fence() != first.Fence() {
				t.Errorf("error %v, fence %d, want none and %d", err, lease.Fence(), first.Fence())
			}
		}
		time.Sleep(10 * ttl)
		mustRelease(t, second, third)
		if err := first.Check(t.Context()); err != nil {
			t.Errorf("the first batch after the second: %v", err)
		}
		mustRelease(t, first)
		if n := holders(t, locks, "k"); n != 0 {
			t.Errorf("%d hold the lock at the end", n)
		}
	})
}

func TestLocker_TryAcquire_joinsAnOpenBatch(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		one := mustAcquire(t, locks, t.Context(), "k", read)
		count := store.count()
		two, err := locks.TryAcquire(t.Context(), "k", read)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []lockrt.Options{write, permits(2)} {
			if _, err := locks.TryAcquire(t.Context(), "k", o); !errors.Is(err, lockrt.ErrBusy) {
				t.Errorf("a try beside readers: %v, want ErrBusy", err)
			}
		}
		if c := count(); c != (calls{}) {
			t.Errorf("the store was asked: %+v", c)
		}
		mustRelease(t, one, two)
	})
}

// What a reader asks for differently: a longer TTL, and a lease that is not renewed.
func TestLocker_readersThatDoNotJoin(t *testing.T) {
	sharing(t, func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
		one := mustAcquire(t, locks, t.Context(), "k", read)
		shorter, longer, once := read, read, read
		shorter.TTL, longer.TTL, once.NoRenew = ttl/2, 2*ttl, true
		leases := []*lockrt.Lease{one, mustAcquire(t, locks, t.Context(), "k", shorter)}
		if n := holders(t, locks, "k"); n != 1 {
			t.Errorf("%d holders, want a shorter TTL to join", n)
		}
		leases = append(leases, mustAcquire(t, locks, t.Context(), "k", longer))
		dies := mustAcquire(t, locks, t.Context(), "k", once)
		leases = append(leases, mustAcquire(t, locks, t.Context(), "k", read))
		if n := holders(t, locks, "k"); n != 4 {
			t.Errorf("%d holders, want two for the TTLs, one that is not renewed, and one that does not join that", n)
		}
		time.Sleep(2 * ttl)
		if !errors.Is(dies.Err(), lockrt.ErrLost) {
			t.Errorf("the lease that is not renewed: %v, want ErrLost", dies.Err())
		}
		mustRelease(t, leases...)
	})
}

func TestLease_lossEndsAllOfItsBatch(t *testing.T) {
	for name, lose := range map[string]func(*sharingStore, *lockrt.Locker, *lockrt.Locker) error{
		"Break": func(_ *sharingStore, other, _ *lockrt.Locker) error {
			return other.Break(context.Background(), "k", "test")
		},
		"deadline": func(store *sharingStore, _, _ *lockrt.Locker) error {
			store.set(func(s *faultStore) { s.renew = blackHole })
			time.Sleep(ttl)
			return nil
		},
		"Close": func(_ *sharingStore, _, locks *lockrt.Locker) error { return locks.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			sharing(t, func(t *testing.T, store *sharingStore, other *lockrt.Locker) {
				locks := newLocker(t, store, lockrt.Config{})
				var leases []*lockrt.Lease
				for range 3 {
					leases = append(leases, mustAcquire(t, locks, t.Context(), "k", read))
				}
				reentrant := read
				reentrant.Reentrant = true
				inner, err := locks.Acquire(leases[1].Context(), "k", reentrant)
				if err != nil {
					t.Fatal(err)
				}
				if err := lose(store, other, locks); err != nil {
					t.Fatal(err)
				}
				for _, lease := range append(leases, inner) {
					if cause := context.Cause(lease.Context()); !errors.Is(cause, lockrt.ErrLost) {
						t.Errorf("the context's cause is %v, want ErrLost", cause)
					}
					if err := lease.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
						t.Errorf("release: %v, want ErrLost", err)
					}
				}
				store.set(func(s *faultStore) { s.renew = nil })
				w, err := other.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Millisecond})
				if err != nil {
					t.Fatalf("something is left of the batch: %v", err)
				}
				mustRelease(t, w)
			})
		})
	}
}

func TestLease_endsAloneInItsBatch(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		limited := read
		limited.MaxHold = time.Second
		one, two := mustAcquire(t, locks, t.Context(), "k", limited), mustAcquire(t, locks, t.Context(), "k", limited)
		stays := mustAcquire(t, locks, t.Context(), "k", read)
		reentrant := read
		reentrant.Reentrant = true
		inner, err := locks.Acquire(two.Context(), "k", reentrant)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, lease := range []*lockrt.Lease{one, two, inner} {
			if !errors.Is(lease.Err(), lockrt.ErrLost) {
				t.Errorf("after MaxHold: %v, want ErrLost", lease.Err())
			}
		}
		if err := stays.Check(t.Context()); err != nil {
			t.Errorf("the one without MaxHold: %v", err)
		}
		count := store.count()
		if err := one.Release(t.Context()); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("release: %v, want ErrLost", err)
		}
		if c := count(); c != (calls{}) {
			t.Errorf("the store was asked: %+v", c)
		}
		mustRelease(t, stays)
		if n := holders(t, locks, "k"); n != 0 {
			t.Errorf("%d hold the lock although two were lost and one released it", n)
		}
	})
}

// What shares the lease of a member ends with it, and not with the batch.
func TestLease_Release_ofAReaderEndsItsNestedOnes(t *testing.T) {
	sharing(t, func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
		reentrant := read
		reentrant.Reentrant = true
		one, two := mustAcquire(t, locks, t.Context(), "k", read), mustAcquire(t, locks, t.Context(), "k", read)
		inner, other := mustAcquire(t, locks, one.Context(), "k", reentrant), mustAcquire(t, locks, two.Context(), "k", reentrant)
		mustRelease(t, one)
		if inner.Err() == nil || other.Err() != nil || two.Err() != nil {
			t.Errorf("after the release of one of two: %v within it, %v and %v of the other", inner.Err(), other.Err(), two.Err())
		}
		if _, err := locks.Acquire(one.Context(), "k", reentrant); err == nil {
			t.Error("a released lease is shared")
		}
		mustRelease(t, two)
	})
}

// The last of a batch reaches its MaxHold and is never released: nobody renews it any more.
func TestLease_lastOfItsBatchReachesMaxHold(t *testing.T) {
	sharing(t, func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
		limited := read
		limited.MaxHold = time.Second
		mustAcquire(t, locks, t.Context(), "k", limited)
		mustRelease(t, mustAcquire(t, locks, t.Context(), "k", read))
		began := time.Now()
		mustRelease(t, mustAcquire(t, locks, t.Context(), "k", write))
		if took := time.Since(began); took > time.Second+ttl {
			t.Errorf("a lease that was not released kept the lock for %s", took)
		}
	})
}

// MinHold keeps a slot for nobody: its holder has no id, and that is not the id of all.
func TestLocker_BreakLease_withoutID(t *testing.T) {
	sharing(t, func(t *testing.T, _ *sharingStore, locks *lockrt.Locker) {
		o := permits(2)
		o.MinHold = 10 * ttl
		mustRelease(t, mustAcquire(t, locks, t.Context(), "k", o))
		lease := mustAcquire(t, locks, t.Context(), "k", permits(2))
		info, err := locks.Holder(t.Context(), "k")
		if err != nil || len(info.Holders) != 2 {
			t.Fatalf("%+v, %v, want two holders", info, err)
		}
		for _, h := range info.Holders {
			if h.ID == "" {
				err := locks.BreakLease(t.Context(), "k", h.ID, "it is old")
				if !errors.Is(err, lockrt.ErrNotHeld) || lease.Err() != nil {
					t.Errorf("break of the slot that is kept: %v, and the lease beside it: %v", err, lease.Err())
				}
			}
		}
		mustRelease(t, lease)
	})
}

func TestLocker_BreakLease(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		other := newLocker(t, store, lockrt.Config{Node: "other"})
		one, two := mustAcquire(t, locks, t.Context(), "k", read), mustAcquire(t, other, t.Context(), "k", read)
		info, err := locks.Holder(t.Context(), "k")
		if err != nil || len(info.Holders) != 2 {
			t.Fatalf("%+v, %v, want two holders", info, err)
		}
		for _, h := range info.Holders {
			if h.Node == "other" {
				if err := locks.BreakLease(t.Context(), "k", h.ID, "it hangs"); err != nil {
					t.Fatal(err)
				}
				if err := locks.BreakLease(t.Context(), "k", h.ID, "again"); !errors.Is(err, lockrt.ErrNotHeld) {
					t.Errorf("a second break: %v, want ErrNotHeld", err)
				}
			}
		}
		if !errors.Is(two.Err(), lockrt.ErrLost) || one.Err() != nil {
			t.Errorf("the broken lease: %v, the other: %v", two.Err(), one.Err())
		}
		third := mustAcquire(t, other, t.Context(), "k", read)
		if err := other.Break(t.Context(), "k", "all of them"); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(one.Err(), lockrt.ErrLost) || !errors.Is(third.Err(), lockrt.ErrLost) {
			t.Errorf("after the break of all: %v and %v, want ErrLost", one.Err(), third.Err())
		}
	})
}

// Whoever has come since the holders were looked at keeps the lock, also if it is of the same process.
func TestLocker_BreakSeen(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		seen := func() lockrt.LockInfo {
			t.Helper()
			info, err := locks.Holder(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			return info
		}
		first := mustAcquire(t, locks, t.Context(), "k", write)
		info := seen()
		mustRelease(t, first)
		next := mustAcquire(t, locks, t.Context(), "k", write)
		if err := locks.BreakSeen(t.Context(), info, "it hangs"); !errors.Is(err, lockrt.ErrNotHeld) || next.Err() != nil {
			t.Errorf("the holder that was seen is gone: %v, want ErrNotHeld; the next one: %v", err, next.Err())
		}
		info = seen()
		info.Holders = nil // as a caller may make it
		if err := locks.BreakSeen(t.Context(), info, "it hangs"); err != nil || !errors.Is(next.Err(), lockrt.ErrLost) {
			t.Errorf("the holder that was seen: %v, its lease: %v, want ErrLost", err, next.Err())
		}
		reader := mustAcquire(t, locks, t.Context(), "k", read)
		info = seen()
		other := mustAcquire(t, newLocker(t, store, lockrt.Config{Node: "other"}), t.Context(), "k", read)
		if err := locks.BreakSeen(t.Context(), info, "it hangs"); err != nil || reader.Err() == nil || other.Err() != nil {
			t.Errorf("%v; the reader that was seen: %v, the one that came since: %v", err, reader.Err(), other.Err())
		}
		mustRelease(t, other)
	})
}

// An exclusive lease ends those that the store has forgotten, also those for reading.
func TestLocker_grantEndsWhatCannotBeBesideIt(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		r := mustAcquire(t, locks, t.Context(), "k", read)
		time.Sleep(time.Second)
		store.set(func(s *faultStore) {
			s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
				_ = real.Release(ctx, lockrt.Release{Key: "k", ID: holderID(t, locks)}) // as if it had lost its data
				return real.Acquire(ctx, req)
			}
		})
		next := mustAcquire(t, locks, t.Context(), "k", read)
		if !errors.Is(r.Err(), lockrt.ErrLost) {
			t.Errorf("the reader with fence %d lives beside one with %d", r.Fence(), next.Fence())
		}
		time.Sleep(time.Second)
		w := mustAcquire(t, locks, t.Context(), "k", write)
		if !errors.Is(next.Err(), lockrt.ErrLost) {
			t.Error("a reader lives beside a writer")
		}
		mustRelease(t, w)
	})
}

func holderID(t *testing.T, locks *lockrt.Locker) string {
	t.Helper()
	info, err := locks.Holder(t.Context(), "k")
	if err != nil {
		t.Error(err)
	}
	return info.ID
}
