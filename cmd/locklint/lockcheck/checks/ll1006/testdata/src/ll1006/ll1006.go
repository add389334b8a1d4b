package ll1006

import (
	"context"
	"fmt"

	lockrt "github.com/lockgen/lockgen/runtime"
	"ll1006/lib"
)

func newID() string { return "" }

type bank struct{ locks, others *lockrt.Locker }

func direct(ctx context.Context, l *lockrt.Locker, id string) error {
	lease, err := l.Acquire(ctx, "a:"+id, lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return l.Do(ctx, "a:"+id, lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil }) // want `LL1006: l.Do takes the lock "a:{…}", which this call chain holds since Acquire at line 16`
}

func (b *bank) transfer(ctx context.Context, id int) error {
	return b.locks.Do(ctx, fmt.Sprintf("account:%d", id), lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return b.audit(ctx, id) // want `LL1006: b.audit takes the lock "account:{…}", which this call chain holds since Do at line 25`
	})
}

func (b *bank) audit(ctx context.Context, id int) error {
	lease, err := b.locks.Acquire(ctx, fmt.Sprintf("account:%d", id), lockrt.Options{})
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

func inOther(ctx context.Context, l *lockrt.Locker, id string) error {
	return l.Do(ctx, "account:"+id, lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return lib.Audit(ctx, l, id) // want `LL1006: lib.Audit takes the lock "account:{…}"`
	})
}

func among(ctx context.Context, l *lockrt.Locker) error {
	leases, err := l.AcquireAll(ctx, []string{"a", "b"}, lockrt.Options{})
	if err != nil {
		return err
	}
	defer leases.Release(ctx)
	lease, err := l.TryAcquire(ctx, "b", lockrt.Options{}) // want `LL1006: l.TryAcquire takes the lock "b"`
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

//lock:key=report,ttl=30s
func reportLocked(ctx context.Context, l *lockrt.Locker) error {
	return report(ctx, l) // want `LL1006`
}

// Fine.

func otherKey(ctx context.Context, l *lockrt.Locker, id string) error {
	return l.Do(ctx, "a:"+id, lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "b:"+id, lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
	})
}

func otherID(ctx context.Context, l *lockrt.Locker, from, to string) error {
	return l.Do(ctx, "a:"+from, lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "a:"+to, lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
	})
}

func reentrant(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "a", lockrt.Options{Reentrant: true}, func(context.Context, *lockrt.Lease) error { return nil })
	})
}

func (b *bank) otherLocker(ctx context.Context) error {
	return b.others.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return b.locks.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
	})
}

func made(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, newID(), lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, newID(), lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
	})
}

func after(ctx context.Context, l *lockrt.Locker) error {
	lease, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	lease.Release(ctx)
	again, err := l.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	return again.Release(ctx)
}

func sometimes(ctx context.Context, l *lockrt.Locker, locked bool) error {
	if locked {
		return nil
	}
	return l.Do(ctx, "a", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
}

func callsSometimes(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error { return sometimes(ctx, l, true) })
}

func started(ctx context.Context, l *lockrt.Locker, id string) error {
	return l.Do(ctx, "account:"+id, lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		go lib.Audit(ctx, l, id)
		return nil
	})
}

func locksOnFailure(ctx context.Context, l *lockrt.Locker, work func() error) error {
	if err := work(); err != nil {
		return l.Do(ctx, "failed", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
	}
	return nil
}

func callsOnFailure(ctx context.Context, l *lockrt.Locker, work func() error) error {
	return l.Do(ctx, "failed", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error { return locksOnFailure(ctx, l, work) })
}

// Readers and permits.

var toRead = lockrt.Options{Mode: lockrt.Read}

func upgrade(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "catalog", toRead, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "catalog", lockrt.Options{Reentrant: true}, func(context.Context, *lockrt.Lease) error { return nil }) // want `LL1006: l.Do takes the lock "catalog".*: it is held together with others.*ErrUpgrade, Reentrant or not`
	})
}

func aloneInPool(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "gpu", lockrt.Options{Permits: 4}, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "gpu", lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil }) // want `LL1006.*ErrUpgrade`
	})
}

func readInRead(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "catalog", toRead, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "catalog", toRead, func(context.Context, *lockrt.Lease) error { return nil }) // want `LL1006.*waits behind a writer that waits for the outer one`
	})
}

func readInWrite(ctx context.Context, l *lockrt.Locker) error {
	return l.DoEach(ctx, []lockrt.KeyOptions{{Key: "catalog"}, {Key: "order"}}, lockrt.Options{}, func(ctx context.Context, _ lockrt.Leases) error {
		return l.Do(ctx, "catalog", toRead, func(context.Context, *lockrt.Lease) error { return nil }) // want `LL1006.*Downgrade`
	})
}

func sharedRead(ctx context.Context, l *lockrt.Locker) error {
	return l.Do(ctx, "catalog", toRead, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "catalog", lockrt.Options{Mode: lockrt.Read, Reentrant: true}, func(context.Context, *lockrt.Lease) error { return nil })
	})
}
