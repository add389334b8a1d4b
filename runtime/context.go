package lockrt

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

type leaseKey struct{}

// leaseContext is a context that carries a lease. It is part of the lease, which context.WithValue could not be.
type leaseContext struct {
	context.Context
	lease *Lease
}

// Err implements context.Context. It looks at the clock too: between the deadline and the run of its timer the context
// has ended already.
func (c *leaseContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	_ = c.lease.Err()
	return c.Context.Err()
}

// Value implements context.Context.
func (c *leaseContext) Value(key any) any {
	if key == (leaseKey{}) {
		return c.lease
	}
	return c.Context.Value(key)
}

// FromContext returns the innermost lease of the running critical section, nil outside of one.
func FromContext(ctx context.Context) *Lease {
	if ctx == nil {
		return nil
	}
	lease, _ := ctx.Value(leaseKey{}).(*Lease)
	return lease
}

// LeasesFromContext returns all leases of the running critical section, the outermost first, none outside of one. They
// include leases that are over. A shared lease (Options.Reentrant) appears once for each Acquire.
func LeasesFromContext(ctx context.Context) Leases {
	var leases Leases
	for lease := FromContext(ctx); lease != nil; lease = lease.outer {
		leases = append(leases, lease)
	}
	slices.Reverse(leases)
	return leases
}

// Held returns the lease on key in ctx, nil if there is none that is still live.
func Held(ctx context.Context, key string) *Lease {
	for lease := FromContext(ctx); lease != nil; lease = lease.outer {
		if lease.grant.key == key && lease.Err() == nil {
			return lease
		}
	}
	return nil
}

// AssertHeld returns nil if ctx belongs to a critical section whose lease on key is still live. Otherwise the error
// wraps ErrNotHeld, and also ErrLost if such a lease was lost. It does not ask the store.
func AssertHeld(ctx context.Context, key string) error {
	for lease := FromContext(ctx); lease != nil; lease = lease.outer {
		if lease.grant.key != key {
			continue
		}
		switch err := lease.Err(); {
		case err == nil:
			return nil
		case errors.Is(err, ErrLost):
			return fmt.Errorf("%w: %w", ErrNotHeld, err)
		}
	}
	return fmt.Errorf("%w: no lease on %s in this context", ErrNotHeld, quote(key))
}
