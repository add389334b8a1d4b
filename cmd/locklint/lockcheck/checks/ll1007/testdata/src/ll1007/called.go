package ll1007

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type shop struct{ locks *lockrt.Locker }

//lock:key=parcel:{id},ttl=30s,wait=1m
func (s *shop) packLocked(ctx context.Context, id string) error { return s.shelve(ctx, id) }

//lock:key=shelf:{id},ttl=30s,wait=1m
func (s *shop) shelveLocked(ctx context.Context, id string) error { return nil }

//lock:key=shelf:{id},ttl=30s,wait=1m
func (s *shop) clearLocked(ctx context.Context, id string) error {
	return s.unpack(ctx, id) // want `LL1007: the lock "parcel:{…}" is taken while "shelf:{…}" is held, and at line 12 it is`
}

//lock:key=parcel:{id},ttl=30s,wait=1m
func (s *shop) unpackLocked(ctx context.Context, id string) error { return nil }

// Constants say enough, however short they are.

func (s *shop) inBodyAB(ctx context.Context) error {
	return s.locks.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return s.locks.Do(ctx, "b", lockrt.Options{}, work)
	})
}

func (s *shop) inBodyBA(ctx context.Context) error {
	return s.locks.Do(ctx, "b", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return s.locks.Do(ctx, "a", lockrt.Options{}, work) // want `LL1007: the lock "a" is taken while "b" is held, and at line 29`
	})
}

func (s *shop) calledCD(ctx context.Context) error {
	lease, err := s.locks.Acquire(ctx, "c", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return s.takeD(lease.Context())
}

func (s *shop) calledDC(ctx context.Context) error {
	lease, err := s.locks.Acquire(ctx, "d", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	return s.takeC(lease.Context()) // want `LL1007: the lock "c" is taken while "d" is held, and at line 45`
}

func (s *shop) takeC(ctx context.Context) error { return s.locks.Do(ctx, "c", lockrt.Options{}, work) }

func (s *shop) takeD(ctx context.Context) error { return s.locks.Do(ctx, "d", lockrt.Options{}, work) }

// Fine: of two branches one takes the lock, and the other does not fail.

func (s *shop) takesAtTimes(ctx context.Context, cached bool) error {
	if cached {
		return s.inBodyAB(ctx)
	}
	return s.locks.Do(ctx, "e", lockrt.Options{}, work)
}

func (s *shop) calledFE(ctx context.Context) error {
	return s.locks.Do(ctx, "f", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return s.takesAtTimes(ctx, true)
	})
}

func (s *shop) inBodyEF(ctx context.Context) error {
	return s.locks.Do(ctx, "e", lockrt.Options{}, func(ctx context.Context, _ *lockrt.Lease) error {
		return s.locks.Do(ctx, "f", lockrt.Options{}, work)
	})
}
