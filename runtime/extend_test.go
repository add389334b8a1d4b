package lockrt_test

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLease_Extend(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		start := time.Now()
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, NoRenew: true})
		if err := lease.Extend(t.Context(), 3*ttl); err != nil {
			t.Fatal(err)
		}
		if err := lease.Extend(t.Context(), ttl); err != nil {
			t.Fatal(err)
		}
		if err := lease.Extend(t.Context(), -1); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("a negative extension: %v, want ErrOptions", err)
		}
		cause := errors.New("connection reset")
		store.set(func(s *faultStore) {
			s.renew = func(_ context.Context, r []lockrt.Renewal, _ lockrt.Session) []error { return failAll(r, cause) }
		})
		if err := lease.Extend(t.Context(), 100*ttl); !errors.Is(err, cause) {
			t.Errorf("an extension that failed: %v, want its cause", err)
		}
		<-lease.Done()
		if held, want := time.Since(start), 3*ttl-3*ttlMargin; held != want {
			t.Errorf("ended after %s, want %s: a shorter or failed extension changes nothing", held, want)
		}
		if err := lease.Extend(t.Context(), ttl); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("extension of a lost lease: %v, want ErrLost", err)
		}
	})
}

// An extension is the length of all further renewals, if it is longer than the TTL.
func TestLease_Extend_renewalsAreAsLong(t *testing.T) {
	for name, test := range map[string]struct{ by, want time.Duration }{
		"longer": {3 * ttl, 3 * ttl}, "shorter": {ttl / 3, ttl},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
				if err := lease.Extend(t.Context(), test.by); err != nil {
					t.Fatal(err)
				}
				renewed := make(chan time.Duration, 1)
				store.set(func(s *faultStore) {
					s.renew = func(_ context.Context, renewals []lockrt.Renewal, _ lockrt.Session) []error {
						renewed <- renewals[0].TTL
						return failAll(renewals, lockrt.ErrLost)
					}
				})
				if got := <-renewed; got != test.want {
					t.Errorf("after Extend by %s of a lease of %s it is renewed by %s, want %s", test.by, ttl, got, test.want)
				}
			})
		})
	}
}

// What one lease was extended by is nobody else's: a grant that the store may have for longer than its next lease wants
// goes back there.
func TestLease_Extend_isNotPassedOn(t *testing.T) {
	for name, answer := range map[string]error{"late": nil, "lost": errors.New("connection reset")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, others *lockrt.Locker) {
				locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Minute})
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
				next := make(chan *lockrt.Lease)
				go func() {
					lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Minute})
					if err != nil {
						t.Error(err)
					}
					next <- lease
				}()
				synctest.Wait()
				store.set(func(s *faultStore) {
					s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
						errs := real.Renew(ctx, renewals)
						if renewals[0].TTL == time.Hour {
							time.Sleep(ttl / 4)
							errs[0] = cmp.Or(errs[0], answer)
						}
						return errs
					}
				})
				extended := make(chan error, 1)
				go func() { extended <- lease.Extend(t.Context(), time.Hour) }()
				synctest.Wait()
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
				if err := <-extended; !errors.Is(err, cmp.Or(answer, lockrt.ErrNotHeld)) {
					t.Errorf("the extension whose lease was released: %v", err)
				}
				passed := <-next
				time.Sleep(3 * ttl)
				if info, err := others.Holder(t.Context(), "k"); err != nil || info.Remaining > ttl {
					t.Errorf("the store has the lock for %s (%v), and its lease asked for %s", info.Remaining, err, ttl)
				}
				if err := passed.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Renewals ask for what an Extend asked for only as long as its lease lives, whoever else shares the grant.
func TestLease_Extend_endsWithItsLease(t *testing.T) {
	inner, innerRead := lockrt.Options{TTL: ttl, Reentrant: true}, lockrt.Options{TTL: ttl, Reentrant: true, Mode: lockrt.Read}
	for name, tt := range map[string]struct{ first, second lockrt.Options }{
		"readers":                    {read, read},
		"an inner lease":             {write, inner},
		"an inner lease of a reader": {read, innerRead},
	} {
		t.Run(name, func(t *testing.T) {
			sharing(t, func(t *testing.T, store *sharingStore, others *lockrt.Locker) {
				locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Minute})
				stays := mustAcquire(t, locks, t.Context(), "k", tt.first)
				ctx := t.Context()
				if tt.second.Reentrant {
					ctx = stays.Context()
				}
				goes := mustAcquire(t, locks, ctx, "k", tt.second)
				if err := goes.Extend(t.Context(), time.Hour); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Hour)
				remaining := func() time.Duration {
					info, err := others.Holder(t.Context(), "k")
					if err != nil {
						t.Fatal(err)
					}
					return info.Remaining
				}
				if left := remaining(); left <= ttl {
					t.Errorf("the store has the lock for %s while the lease lives that was extended by an hour", left)
				}
				if err := goes.Release(t.Context()); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * time.Hour)
				if left := remaining(); left > ttl {
					t.Errorf("the store has the lock for %s, and the lease that is left asked for %s", left, ttl)
				}
				if err := stays.Err(); err != nil {
					t.Errorf("the lease that is left: %v", err)
				}
			})
		})
	}
}

// Readers who join a downgraded lease count on the TTL that it was acquired with, which is left when it has gone.
func TestLease_Extend_beforeDowngrade(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, _ *lockrt.Locker) {
		locks := newLocker(t, store, lockrt.Config{LocalHandoffTime: time.Hour})
		lease := mustAcquire(t, locks, t.Context(), "k", write)
		if err := errors.Join(lease.Extend(t.Context(), time.Hour), lease.Downgrade(t.Context())); err != nil {
			t.Fatal(err)
		}
		o := read
		o.TTL = 10 * ttl
		reader := mustAcquire(t, locks, t.Context(), "k", o)
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		if left := time.Until(reader.Deadline()); left < 5*ttl {
			t.Errorf("a reader who asked for %s has %s after a renewal", o.TTL, left)
		}
	})
}

// At a store that gives less at a time than NoRenew asks for, an Extend moves the end of the lease too, up to MaxHold.
func TestLease_Extend_ofATTLInParts(t *testing.T) {
	for _, tt := range []struct{ maxHold, want time.Duration }{
		{0, 17 * ttl / 4}, {4 * ttl, 4 * ttl}, {10 * ttl, 17 * ttl / 4}, {ttl, ttl},
	} {
		bubble(t, func(t *testing.T, store *faultStore, others *lockrt.Locker) {
			store.set(func(s *faultStore) {
				s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
					req.TTL = min(req.TTL, ttl)
					g, err := real.Acquire(ctx, req)
					g.TTL, g.MaxTTL = req.TTL, ttl
					return g, err
				}
				s.renew = func(ctx context.Context, renewals []lockrt.Renewal, real lockrt.Session) []error {
					if renewals[0].TTL > ttl {
						return failAll(renewals, errors.New("too long for this store"))
					}
					return real.Renew(ctx, renewals)
				}
			})
			locks := newLocker(t, store, lockrt.Config{})
			began := time.Now()
			lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 3 * ttl, NoRenew: true, MaxHold: tt.maxHold})
			ended := make(chan time.Duration)
			go func() {
				<-lease.Done()
				ended <- time.Since(began)
			}()
			for _, pause := range []time.Duration{5 * ttl / 2, 3 * ttl / 4} {
				time.Sleep(pause)
				if lease.Err() == nil {
					if err := lease.Extend(t.Context(), ttl); err != nil {
						t.Error(err)
					}
				}
			}
			if held := <-ended; held != tt.want {
				t.Errorf("MaxHold %s: the lease ended after %s, want %s", tt.maxHold, held, tt.want)
			}
			_ = lease.Release(t.Context())
		})
	}
}

// An inner lease ends with the outer one, whichever of them is extended, and no later than its own MaxHold.
func TestLease_Extend_ofATTLInParts_inner(t *testing.T) {
	for _, byInner := range []bool{false, true} {
		bubble(t, func(t *testing.T, store *faultStore, _ *lockrt.Locker) {
			store.set(func(s *faultStore) {
				s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
					req.TTL = min(req.TTL, ttl)
					g, err := real.Acquire(ctx, req)
					g.TTL, g.MaxTTL = req.TTL, ttl
					return g, err
				}
			})
			locks := newLocker(t, store, lockrt.Config{})
			outer := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: 2 * ttl, NoRenew: true})
			inner := mustAcquire(t, locks, outer.Context(), "k", lockrt.Options{TTL: ttl, Reentrant: true})
			short := mustAcquire(t, locks, outer.Context(), "k", lockrt.Options{TTL: ttl, Reentrant: true, MaxHold: 9 * ttl / 4})
			time.Sleep(7 * ttl / 4)
			extended := outer
			if byInner {
				extended = inner
			}
			if err := extended.Extend(t.Context(), ttl); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * ttl / 4)
			for what, lease := range map[string]*lockrt.Lease{"outer": outer, "inner": inner} {
				if err := lease.Err(); err != nil {
					t.Errorf("extended by the inner: %t: the %s lease: %v", byInner, what, err)
				}
			}
			if err := short.Err(); !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("the inner lease past its MaxHold: %v", err)
			}
			time.Sleep(ttl / 2)
			if outer.Err() == nil || inner.Err() == nil {
				t.Error("a lease lives behind the end of what it was extended to")
			}
		})
	}
}

// A MaxHold that never comes does not shorten what an Extend has made longer.
func TestLease_Extend_beyondEveryMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		var short atomic.Int32
		store.set(func(s *faultStore) {
			s.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
				for _, one := range r {
					if one.TTL < ttl {
						short.Add(1)
					}
				}
				return real.Renew(ctx, r)
			}
		})
		lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, MaxHold: lockrt.Forever})
		if err := lease.Extend(t.Context(), 30*24*time.Hour); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ttl)
		if n := short.Load(); n > 0 || lease.Err() != nil {
			t.Errorf("%d renewals ask for less than the TTL; %v", n, lease.Err())
		}
	})
}
