package lockrt_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// This file is about meters that do not return, or panic, as they must not: that is to cost those who called them.

// misbehaving is a Locker whose meter calls what is in the pointer, once.
func misbehaving(t *testing.T, store lockrt.Store) (*lockrt.Locker, *atomic.Pointer[func()]) {
	t.Helper()
	next := new(atomic.Pointer[func()])
	record := func() {
		if f := next.Swap(nil); f != nil {
			(*f)()
		}
	}
	locks, err := lockrt.New(store, lockrt.Config{Logger: quiet(), MeterProvider: hookedMeters{record: record}})
	if err != nil {
		t.Fatal(err)
	}
	return locks, next
}

func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

func panics() { panic("meter") }

// A hand-off goes to the next caller whatever the meter does that hears of the end of the lease before.
func TestLease_Release_passesOnBesideAMeter(t *testing.T) {
	for name, f := range map[string]func(){"panics": panics, "blocks": func() { time.Sleep(time.Hour) }} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				locks, next := misbehaving(t, memstore.New())
				lease := mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
				done := make(chan time.Time, 1)
				go func() {
					_ = mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl, Wait: time.Minute}).Release(t.Context())
					done <- time.Now()
				}()
				synctest.Wait()
				next.Store(&f)
				released := time.Now()
				go func() {
					_ = recovered(func() {
						defer func() { _ = lease.Release(t.Context()) }()
						_ = lease.Release(t.Context())
					})
				}()
				if took := (<-done).Sub(released); took > bound {
					t.Errorf("the next caller had the lock and gave it back after %s", took)
				}
				time.Sleep(2 * time.Hour) // the meter returns
				if err := locks.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A release comes to the store whatever the meter does.
func TestLease_Release_meterPanics(t *testing.T) {
	for name, o := range map[string]lockrt.Options{"write": {TTL: ttl}, "read": {TTL: ttl, Mode: lockrt.Read}} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				locks, next := misbehaving(t, memstore.New())
				lease := mustAcquire(t, locks, t.Context(), "k", o)
				next.Store(new(panics))
				if p := recovered(func() { _ = lease.Release(t.Context()) }); p != "meter" {
					t.Errorf("it panicked with %v", p)
				}
				if _, err := locks.Holder(t.Context(), "k"); err == nil {
					t.Error("the lock stays at the store")
				}
				if err := locks.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What a renewal has kept is not lost by a meter that hears of the loss of another lease.
func TestConfig_MeterProvider_slowBesideRenewals(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		store := &faultStore{Store: memstore.New()}
		locks, next := misbehaving(t, store)
		var lost atomic.Pointer[string] // the first of several that are renewed together
		store.renew = func(ctx context.Context, r []lockrt.Renewal, real lockrt.Session) []error {
			errs := real.Renew(ctx, r)
			if len(r) > 2 && lost.CompareAndSwap(nil, &r[0].Key) {
				errs[0] = lockrt.ErrLost
			}
			return errs
		}
		var leases []*lockrt.Lease
		for i := range 100 {
			leases = append(leases, mustAcquire(t, locks, t.Context(), fmt.Sprint(i), lockrt.Options{TTL: 30 * time.Millisecond}))
		}
		next.Store(new(func() { time.Sleep(15 * time.Second) }))
		time.Sleep(time.Second)
		for _, lease := range leases {
			if over := lease.Err() != nil; over != (lease.Key() == *lost.Load()) {
				t.Errorf("lease %s is lost: %t", lease.Key(), over)
			}
		}
		time.Sleep(time.Minute)
		_ = locks.Close(t.Context())
	})
}

// Close releases, and says what it has not, whatever the meter does.
func TestLocker_Close_besideAMeter(t *testing.T) {
	for name, f := range map[string]func(){"blocks": func() { time.Sleep(time.Hour) }, "exits": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			testsync.Bubble(t, func(t *testing.T) {
				store := memstore.New()
				locks, next := misbehaving(t, store)
				for i := range 10 {
					mustAcquire(t, locks, t.Context(), fmt.Sprint(i), lockrt.Options{TTL: time.Hour, MinHold: 10 * time.Millisecond})
				}
				next.Store(&f)
				began := time.Now()
				if err := locks.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("it took %s", took)
				}
				others := newLocker(t, store, lockrt.Config{})
				time.Sleep(20 * time.Millisecond) // what MinHold keeps
				if infos, err := others.List(t.Context(), ""); err != nil || len(infos) > 0 {
					t.Errorf("left at the store: %v, %v", infos, err)
				}
				time.Sleep(2 * time.Hour) // the meter returns
			})
		})
	}
}

// counting counts the records that were handled.
type counting struct {
	slog.Handler
	n *atomic.Int32
}

func (c counting) Handle(context.Context, slog.Record) error {
	c.n.Add(1)
	return nil
}

func (c counting) Enabled(context.Context, slog.Level) bool { return true }

// Close waits until its losses are logged, also behind a slow meter.
func TestLocker_Close_waitsForTheLog(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		var logged atomic.Int32
		slow := new(atomic.Bool)
		locks, err := lockrt.New(memstore.New(), lockrt.Config{
			Logger: slog.New(counting{slog.DiscardHandler, &logged}),
			MeterProvider: hookedMeters{record: func() {
				if slow.CompareAndSwap(true, false) {
					time.Sleep(time.Second)
				}
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			mustAcquire(t, locks, t.Context(), fmt.Sprint(i), lockrt.Options{TTL: time.Minute})
		}
		slow.Store(true)
		if err := locks.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := logged.Load(); n != 10 {
			t.Errorf("%d losses are logged when Close returns, want 10", n)
		}
	})
}
