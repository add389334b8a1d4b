package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// FromContext returns the fence of the lock that protects resource: that of the lease in ctx whose key equals resource.
// If there is none and ctx has only one lease, it returns the fence of that lease. It does not ask the store. For the
// lease of a permit the resource must name its slot, as [PerSlot] does; else the error wraps ErrInvalid.
//
// The error wraps lockrt.ErrNotHeld if there is no such lease or it is over, and lockrt.ErrLost too if it was lost. It
// wraps ErrInvalid if ctx carries leases on several keys and none of these equals resource: fences of different locks
// cannot be compared. Then name the lock,
//
//	f := lockrt.Held(ctx, key).Fence()
//
// and give f to [Guard], redisfence.Redis.Do or [SetHeader]. It is 0 when that lock is not held, and 0 is refused by everything
// in this package.
func FromContext(ctx context.Context, resource string) (lockrt.Fence, error) {
	lease, err := leaseFor(ctx, resource)
	if err == nil {
		err = errors.Join(live(lease), checkSlot(resource, lease))
	}
	if err != nil {
		return 0, fmt.Errorf("take the fence for %q from the context: %w", shorten(resource), err)
	}
	return lease.Fence(), nil
}

// leaseFor finds the lease whose fence protects resource. It may be over.
func leaseFor(ctx context.Context, resource string) (*lockrt.Lease, error) {
	if lease := lockrt.Held(ctx, resource); lease != nil {
		return lease, nil
	}
	var keys []string
	leases := lockrt.LeasesFromContext(ctx)
	for _, lease := range slices.Backward(leases) {
		if lease.Key() == resource || PerSlot(lease.Key(), lease) == resource {
			return lease, nil // over, and no other lock's fence stands in for it
		}
		if !slices.Contains(keys, lease.Key()) {
			keys = append(keys, lease.Key())
		}
	}
	switch len(keys) {
	case 0:
		return nil, fmt.Errorf("%w: the context carries no lease; pass on the one that Do or Lease.Context gave",
			lockrt.ErrNotHeld)
	case 1:
		return leases[len(leases)-1], nil
	}
	return nil, fmt.Errorf("%w: the context carries leases on %d keys (%s) and none is called like the resource; "+
		"take that of the lock that protects it: lockrt.Held(ctx, key).Fence()", ErrInvalid, len(keys), names(keys))
}

// live says why a lease has no fence to give.
func live(lease *lockrt.Lease) error {
	switch err := lease.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, lockrt.ErrNotHeld):
		return fmt.Errorf("lease on %q: %w any more", shorten(lease.Key()), err)
	default:
		return fmt.Errorf("%w: %w", lockrt.ErrNotHeld, err)
	}
}

// names lists the first of many keys.
func names(keys []string) string {
	const most = 5
	var quoted []string
	for _, key := range keys[:min(len(keys), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", shorten(key)))
	}
	if len(keys) > most {
		quoted = append(quoted, "…")
	}
	return strings.Join(quoted, ", ")
}
