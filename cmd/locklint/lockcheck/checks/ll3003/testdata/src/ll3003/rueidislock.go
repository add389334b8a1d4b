package ll3003

import (
	"context"

	"github.com/redis/rueidis/rueidislock"
)

func waits(ctx context.Context, l rueidislock.Locker, paid bool) error {
	ctx, cancel, err := l.WithContext(ctx, "a") // want `LL3003: the lock from WithContext is not released on every path: the return at line 15 \(when paid\) leaves it held`
	if err != nil {
		return err
	}
	if paid {
		return errPaid
	}
	<-ctx.Done()
	cancel()
	return nil
}

func tries(ctx context.Context, l rueidislock.Locker) error {
	ctx, _, err := l.TryWithContext(ctx, "a") // want `LL3003: the lock from TryWithContext is never released`
	if err != nil {
		return err
	}
	return ctx.Err()
}

// Fine.

func cancels(ctx context.Context, l rueidislock.Locker) error {
	_, cancel, err := l.WithContext(ctx, "a")
	if err != nil {
		return err
	}
	defer cancel()
	return work()
}

func cancelsInLiteral(ctx context.Context, l rueidislock.Locker) error {
	_, cancel, err := l.ForceWithContext(ctx, "a")
	if err != nil {
		return err
	}
	defer func() { cancel() }()
	return work()
}

func hands(ctx context.Context, l rueidislock.Locker) (context.Context, context.CancelFunc, error) {
	return l.WithContext(ctx, "a")
}

func handsMore(ctx context.Context, l rueidislock.Locker) (context.CancelFunc, error) {
	_, cancel, err := l.WithContext(ctx, "a")
	if err != nil {
		return nil, err
	}
	return cancel, nil
}

func usesHanded(ctx context.Context, l rueidislock.Locker) error {
	cancel, err := handsMore(ctx, l) // want `LL3003: the lock from handsMore is never released`
	if err != nil {
		return err
	}
	_ = cancel
	return work()
}

func bounded(l rueidislock.Locker) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop() // ends the lock, too
	_, _, err := l.WithContext(ctx, "a")
	return err
}

func closes(ctx context.Context, l rueidislock.Locker) error {
	defer l.Close()
	_, _, err := l.WithContext(ctx, "a")
	return err
}
