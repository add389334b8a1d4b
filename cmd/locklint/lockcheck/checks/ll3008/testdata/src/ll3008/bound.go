package ll3008

import "context"

// Method values of an interface, and an interface that is embedded in a struct, are locked and unlocked like any other.

type boundLock interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
	bound()
}

func unlocksBound(ctx context.Context, l boundLock) error {
	unlock := l.Unlock
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer unlock(ctx) // want `LL3008: unlock is given the caller's context`
	return work()
}

func bothBound(ctx context.Context, l boundLock) error {
	lock, unlock := l.Lock, l.Unlock
	if err := lock(ctx); err != nil {
		return err
	}
	defer unlock(ctx) // want `LL3008: unlock is given the caller's context`
	return work()
}

type keepsBound struct{ unlock func(context.Context) error }

func inField(ctx context.Context, l boundLock) error {
	x := keepsBound{l.Unlock}
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer x.unlock(ctx) // want `LL3008: x.unlock is given the caller's context`
	return work()
}

type embedsLock struct{ boundLock }

func embedded(ctx context.Context, e embedsLock) error {
	if err := e.Lock(ctx); err != nil {
		return err
	}
	defer e.Unlock(ctx) // want `LL3008: e.Unlock is given the caller's context`
	return work()
}

func boundAndDetached(ctx context.Context, l boundLock, e embedsLock) error {
	unlock := l.Unlock
	if err := l.Lock(ctx); err != nil {
		return err
	}
	defer unlock(context.WithoutCancel(ctx))
	if err := e.Lock(ctx); err != nil {
		return err
	}
	defer e.Unlock(context.WithoutCancel(ctx))
	return work()
}

// Whoever runs it then decides.
func handsBound(ctx context.Context, l boundLock) (func(context.Context) error, error) {
	if err := l.Lock(ctx); err != nil {
		return nil, err
	}
	return l.Unlock, nil
}
