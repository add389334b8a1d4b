package dashboard

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// handingOn is a Locker whose lock passes to the next one when somebody has looked at it.
type handingOn struct {
	*lockrt.Locker
	handOn func()
	once   sync.Once
}

func (l *handingOn) Holder(ctx context.Context, key string) (lockrt.LockInfo, error) {
	info, err := l.Locker.Holder(ctx, key)
	l.once.Do(l.handOn)
	return info, err
}

// Two operators confirm at a time that a holder is to be broken. One of them breaks it, and the other not the next one.
func TestBreak_sparesTheNextHolder(t *testing.T) {
	locks, err := lockrt.New(memstore.New(), lockrt.Config{Namespace: "n", Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(context.Background()) })
	acquire := func() *lockrt.Lease {
		lease, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Minute, Wait: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return lease
	}
	held := acquire()
	fence := strconv.FormatUint(uint64(held.Fence()), 10)
	var next *lockrt.Lease
	h := newDashboard(busyFake(), &handingOn{Locker: locks, handOn: func() {
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
		next = acquire()
	}}, operator)
	expect(t, post(h, "break", "key", "k", "holder", fence, "reason", "stuck"), 409, "This holder is gone", "Nothing was broken")
	if err := next.Err(); err != nil {
		t.Errorf("the next holder: %v", err)
	}
}
