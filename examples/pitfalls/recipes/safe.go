package recipes

import (
	"context"
	"database/sql"
	"errors"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

//go:generate go run github.com/lockgen/lockgen/cmd/lockgen

// office does its work under locks that lockgen takes and releases. There is nothing to
// get wrong below: no token, no expiry, no renewal, no release.
type office struct{ locks *lockrt.Locker }

//lock:key=job:{id},ttl=1s,wait=forever
func (o *office) workLocked(ctx context.Context, id string, do func(context.Context) error) error {
	return do(ctx)
}

// tryWorkLocked does not wait for others.
//
//lock:key=job:{id},ttl=1s
func (o *office) tryWorkLocked(ctx context.Context, id string, do func(context.Context) error) error {
	return do(ctx)
}

// nestedWorkLocked may be called by work that has the lock already.
//
//lock:key=job:{id},ttl=1s,reentrant
func (o *office) nestedWorkLocked(ctx context.Context, id string, do func(context.Context) error) error {
	return do(ctx)
}

// ledger is a resource that refuses those who no longer hold the lock.
type ledger struct {
	marks fence.Memory
	value string
}

// write uses the fence of the lease in ctx and nothing else of it: it stands for a write that was on its way when the
// lock was lost.
func (g *ledger) write(ctx context.Context, id, value string) error {
	if err := g.marks.Check(context.WithoutCancel(ctx), "job:"+id, lockrt.FromContext(ctx).Fence()); err != nil {
		return err
	}
	g.value = value
	return nil
}

// sellLocked is sellTooEarly with the lock around all of it, commit included.
//
//lock:key=shop:{s.item},ttl=2s,wait=forever
func (s *shop) sellLocked(ctx context.Context, buyer string) (done bool, err error) {
	left, err := s.remaining(ctx)
	if err != nil || left == 0 {
		return false, err
	}
	if err := s.charge(ctx); err != nil {
		return false, err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() {
		if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			done = false
		}
	}()
	if err := take(ctx, tx, buyer, left-1); err != nil {
		return false, err
	}
	if err := s.notify(ctx); err != nil {
		return false, err
	}
	return true, tx.Commit()
}

//lock:key=pool:{id},permits=2,ttl=1s,wait=forever
func (o *office) shareLocked(ctx context.Context, id string, do func(context.Context) error) error {
	return do(ctx)
}

//lock:key=catalog:{id},mode=read,ttl=1s,wait=forever
func (o *office) readLocked(ctx context.Context, id string, do func(context.Context) error) error {
	return do(ctx)
}

//lock:key=catalog:{id},ttl=1s,wait=forever
func (o *office) writeLocked(ctx context.Context, id string, do func(context.Context) error) error {
	return do(ctx)
}
