package ll1007

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type body = func(context.Context, *lockrt.Lease) error

func work(context.Context, *lockrt.Lease) error { return nil }

func orderFirst(ctx context.Context, l *lockrt.Locker, order, item string) error {
	return l.Do(ctx, "order:"+order, lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "stock:"+item, lockrt.Options{}, work)
	})
}

func stockFirst(ctx context.Context, l *lockrt.Locker, order, item string) error {
	return l.Do(ctx, "stock:"+item, lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return lockOrder(ctx, l, order) // want `LL1007: the lock "order:{…}" is taken while "stock:{…}" is held, and at line 15 it is the other way round`
	})
}

func lockOrder(ctx context.Context, l *lockrt.Locker, order string) error {
	return l.Do(ctx, "order:"+order, lockrt.Options{}, work)
}

// Fine.

func userThenOrder(ctx context.Context, l *lockrt.Locker, order, user string) error {
	return l.Do(ctx, "user:"+user, lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return lockOrder(ctx, l, order)
	})
}

func both(ctx context.Context, l *lockrt.Locker, order, user string) error {
	return l.DoAll(ctx, []string{"order:" + order, "user:" + user}, lockrt.Options{}, func(context.Context, lockrt.Leases) error { return nil })
}

var toRead = lockrt.Options{Mode: lockrt.Read}

func readAThenB(ctx context.Context, l *lockrt.Locker, a, b string) error {
	return l.Do(ctx, "catalog:"+a, toRead, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "price:"+b, lockrt.Options{}, work)
	})
}

// Who reads the catalog waits behind a writer of it who waits for the other.
func readBThenA(ctx context.Context, l *lockrt.Locker, a, b string) error {
	return l.Do(ctx, "price:"+b, lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "catalog:"+a, toRead, work) // want `LL1007: the lock "catalog:{…}" is taken while "price:{…}" is held`
	})
}

func writeBThenA(ctx context.Context, l *lockrt.Locker, a, b string) error {
	return l.Do(ctx, "price:"+b, toRead, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "catalog:"+a, lockrt.Options{}, work) // want `LL1007: the lock "catalog:{…}" is taken while "price:{…}" is held`
	})
}

func readCThenD(ctx context.Context, l *lockrt.Locker, c, d string) error {
	return l.Do(ctx, "rate:"+c, toRead, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "tax:"+d, toRead, work)
	})
}

func readDThenC(ctx context.Context, l *lockrt.Locker, c, d string) error {
	return l.Do(ctx, "tax:"+d, toRead, func(ctx context.Context, _ *lockrt.Lease) error {
		return l.Do(ctx, "rate:"+c, toRead, work) // want `LL1007: the lock "rate:{…}" is taken while "tax:{…}" is held`
	})
}
