package fence

import (
	"fmt"
	"strconv"
	"strings"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// PerSlot returns the name under which a lease's writes to a resource are guarded: the resource itself, and for a lease
// of a permit the resource, # and the number of its slot. The holders of permits work at the same time, so under one
// name the guard would refuse the older of two that both hold the lock. Those of one slot come one after another, and
// their fences grow. [GuardLease] and [CheckLease] do this by themselves; for [Guard], [SetHeader] and redisfence name
// it so.
//
// A resource of another lock should not have such a name: the fences of different keys cannot be compared.
func PerSlot(resource string, lease *lockrt.Lease) string {
	if slot := lease.Slot(); slot >= 0 {
		return resource + "#" + strconv.Itoa(slot)
	}
	return resource
}

// checkSlot refuses a resource that all holders of permits would have in common.
func checkSlot(resource string, lease *lockrt.Lease) error {
	if strings.HasSuffix(resource, PerSlot("", lease)) {
		return nil
	}
	return fmt.Errorf("%w: the lease on %q is one of several permits, and %q does not name its slot: the fences of holders "+
		"that work at the same time cannot be compared; use GuardLease, or the resource %q (fence.PerSlot)",
		ErrInvalid, shorten(lease.Key()), shorten(resource), PerSlot(shorten(resource), lease))
}
