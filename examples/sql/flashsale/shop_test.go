package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// newShop is a shop with a database of its own.
func newShop(t *testing.T, stock int) *shop {
	t.Helper()
	d, err := parseDatabase("sqlite:" + t.TempDir() + "/shop.db")
	if err != nil {
		t.Fatal(err)
	}
	db, err := d.open(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { locks.Close(context.Background()) })
	s := &sale{"test", db, d}
	if err := s.prepare(t.Context(), stock, "memory:"); err != nil {
		t.Fatal(err)
	}
	return &shop{"instance-1", s, locks}
}

// An instance that was paused beyond its lease finds that another has been there:
// whichever of its two locks that had, nothing of the order is written.
func TestPlaceOrder_staleFence(t *testing.T) {
	s := newShop(t, 5)
	overtake := func(resource string) {
		err := s.sale.inTx(t.Context(), func(tx *sql.Tx) (bool, error) {
			return true, s.sale.marks().Guard(t.Context(), tx, resource, math.MaxInt64)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	place := func(userID int64, want error) {
		t.Helper()
		if _, err := s.placeOrder(t.Context(), userID); !errors.Is(err, want) {
			t.Errorf("order of user %d: %v, want %v", userID, err, want)
		}
	}
	place(1, nil)
	overtake(s.sale.userResource(2))
	place(2, fence.ErrStale)
	place(3, nil) // the refused one left no trace
	overtake(s.sale.stockResource())
	place(4, fence.ErrStale)
	c, err := s.sale.count(t.Context(), 5)
	if err != nil || c != (count{sold: 2}) {
		t.Errorf("counted %+v, %v", c, err)
	}
	if st, err := s.sale.read(t.Context(), s.sale.db, 3); err != nil || st != (state{remaining: 3, ordered: true}) {
		t.Errorf("read %+v, %v", st, err)
	}
}

// The wrapper's keys are the resources that the fences protect: an order waits while
// somebody else holds either of them.
func TestPlaceOrder_keys(t *testing.T) {
	s := newShop(t, 2)
	store := memstore.New()
	var others [2]*lockrt.Locker
	for i := range others {
		var err error
		if others[i], err = lockrt.New(store, lockrt.Config{}); err != nil {
			t.Fatal(err)
		}
		defer others[i].Close(context.Background())
	}
	s.locks = others[1]
	for i, key := range []string{s.sale.userResource(0), s.sale.stockResource()} {
		done := make(chan error, 1)
		err := others[0].Do(t.Context(), key, lockrt.Options{TTL: time.Minute},
			func(ctx context.Context, _ *lockrt.Lease) error {
				go func() {
					_, err := s.placeOrder(t.Context(), int64(i))
					done <- err
				}()
				for {
					info, err := others[0].Holder(ctx, key)
					if err != nil || len(info.Waiters) > 0 {
						return err
					}
					select {
					case err := <-done:
						return fmt.Errorf("placed an order while somebody else holds %s: %w", key, err)
					case <-time.After(time.Millisecond):
					}
				}
			})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}
