package ll3008

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Acquires by hand that hand out what releases the lock.

type rooms struct{ rdb *redis.Client }

func (r *rooms) acquire(ctx context.Context, id, token string) (func(), error) {
	if ok, err := r.rdb.SetNX(ctx, "lock:room:"+id, token, time.Minute).Result(); err != nil || !ok {
		return nil, errors.Join(err, errors.New("busy"))
	}
	return func() {
		unlock.Run(ctx, r.rdb, []string{"lock:room:" + id}, token) // want `LL3008: unlock.Run is given the caller's context`
	}, nil
}

// Nobody here calls it, so a caller elsewhere hands in what acquire is given.
func (r *rooms) Enter(ctx context.Context, id, token string) error {
	release, err := r.acquire(ctx, id, token)
	if err != nil {
		return err
	}
	defer release()
	return work()
}

// With a context of its own.
func (r *rooms) take(ctx context.Context, id, token string) (func(context.Context) error, error) {
	if ok, err := r.rdb.SetNX(ctx, "lock:room:"+id, token, time.Minute).Result(); err != nil || !ok {
		return nil, errors.Join(err, errors.New("busy"))
	}
	return func(ctx context.Context) error {
		return unlock.Run(ctx, r.rdb, []string{"lock:room:" + id}, token).Err()
	}, nil
}

func (r *rooms) Clean(ctx context.Context, id, token string) error {
	release, err := r.take(ctx, id, token)
	if err != nil {
		return err
	}
	defer release(ctx) // want `LL3008: release is given the caller's context`
	return work()
}

func (r *rooms) Paint(ctx context.Context, id, token string) error {
	release, err := r.take(ctx, id, token)
	if err != nil {
		return err
	}
	defer func() { _ = release(ctx) }() // want `LL3008: release is given the caller's context`
	return work()
}

func (r *rooms) PaintDetached(ctx context.Context, id, token string) error {
	release, err := r.take(ctx, id, token)
	if err != nil {
		return err
	}
	defer release(context.WithoutCancel(ctx))
	return work()
}

func nightly(r *rooms, token string) error {
	release, err := r.take(context.Background(), "night", token)
	if err != nil {
		return err
	}
	defer release(context.Background())
	return work()
}

// Nobody here runs what it hands out.
func (r *rooms) Take(ctx context.Context, id, token string) (func(context.Context) error, error) {
	if ok, err := r.rdb.SetNX(ctx, "lock:room:"+id, token, time.Minute).Result(); err != nil || !ok {
		return nil, errors.Join(err, errors.New("busy"))
	}
	return func(ctx context.Context) error {
		return unlock.Run(ctx, r.rdb, []string{"lock:room:" + id}, token).Err()
	}, nil
}

// What it hands out detaches itself.
func (r *rooms) borrow(ctx context.Context, id, token string) (func(context.Context) error, error) {
	if ok, err := r.rdb.SetNX(ctx, "lock:room:"+id, token, time.Minute).Result(); err != nil || !ok {
		return nil, errors.Join(err, errors.New("busy"))
	}
	return func(ctx context.Context) error {
		return unlock.Run(context.WithoutCancel(ctx), r.rdb, []string{"lock:room:" + id}, token).Err()
	}, nil
}

func (r *rooms) Visit(ctx context.Context, id, token string) error {
	release, err := r.borrow(ctx, id, token)
	if err != nil {
		return err
	}
	defer release(ctx)
	return work()
}

// Interfaces that nobody here implements.

type lockKeeper interface {
	Acquire(ctx context.Context, key string, ttl time.Duration) (release func(context.Context) error, err error)
}

type doorKeeper interface { // of something else
	Acquire(ctx context.Context, key string, ttl time.Duration) (release func(context.Context) error, err error)
}

type seats interface {
	LockSeat(ctx context.Context, seat, holder string, ttl time.Duration) (bool, error)
	UnlockSeat(ctx context.Context, seat, holder string) error
}

type admins interface { // business
	LockAccount(ctx context.Context, account string) error
	UnlockAccount(ctx context.Context, account string) error
}

type heldThing interface {
	Release(ctx context.Context) error
	Extend(ctx context.Context, ttl time.Duration) error
}

type opened interface {
	Release(ctx context.Context) error
}

type holderOfLocks interface {
	AcquireLock(ctx context.Context, key string, ttl time.Duration) (heldThing, error)
	TryAcquireLock(ctx context.Context, key string, ttl time.Duration) (heldThing, bool, error)
}

type opener interface {
	Acquire(ctx context.Context, key string) (opened, error)
}

type hall struct {
	locks  lockKeeper
	doors  doorKeeper
	seats  seats
	admins admins
	holder holderOfLocks
	opener opener
}

func (h *hall) A(ctx context.Context) error {
	release, err := h.locks.Acquire(ctx, "a", time.Minute)
	if err != nil {
		return err
	}
	defer release(ctx) // want `LL3008: release is given the caller's context`
	return work()
}

func (h *hall) B(ctx context.Context) error {
	release, err := h.doors.Acquire(ctx, "b", time.Minute)
	if err != nil {
		return err
	}
	defer release(ctx)
	return work()
}

func (h *hall) C(ctx context.Context, holder string) error {
	ok, err := h.seats.LockSeat(ctx, "c", holder, time.Minute)
	if err != nil || !ok {
		return err
	}
	defer h.seats.UnlockSeat(ctx, "c", holder) // want `LL3008: h.seats.UnlockSeat is given the caller's context`
	return work()
}

func (h *hall) D(ctx context.Context) error {
	if err := h.admins.LockAccount(ctx, "d"); err != nil {
		return err
	}
	defer h.admins.UnlockAccount(ctx, "d")
	return work()
}

func (h *hall) E(ctx context.Context) error {
	lock, err := h.holder.AcquireLock(ctx, "e", time.Minute)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	return work()
}

func (h *hall) F(ctx context.Context) error {
	door, err := h.opener.Acquire(ctx, "f")
	if err != nil {
		return err
	}
	defer door.Release(ctx)
	return work()
}

func (h *hall) G(ctx context.Context) error {
	lock, ok, err := h.holder.TryAcquireLock(ctx, "g", time.Minute)
	if err != nil || !ok {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	return work()
}

func (h *hall) H(ctx context.Context) error {
	lock, ok, err := h.holder.TryAcquireLock(ctx, "h", time.Minute)
	if err != nil {
		return err
	}
	if ok {
		defer lock.Release(context.WithoutCancel(ctx))
	}
	return work()
}
