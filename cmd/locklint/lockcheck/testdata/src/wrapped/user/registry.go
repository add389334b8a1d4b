package user

import (
	"context"
	"log"
	"time"

	"wrapped/locks"
)

// Locks that one object keeps under their keys.

type desk struct{ registry locks.Registry }

func (d *desk) serve(ctx context.Context, id string) error {
	key := "desk:" + id
	if err := d.registry.Lock(ctx, key, time.Minute); err != nil {
		return err
	}
	defer d.registry.Unlock(ctx, key) // want `LL3008: d.registry.Unlock is given the caller's context`
	return work()
}

func (d *desk) detached(ctx context.Context, id string) error {
	if err := d.registry.Lock(ctx, id, time.Minute); err != nil {
		return err
	}
	defer func() { _ = d.registry.Unlock(context.WithoutCancel(ctx), id) }()
	return work()
}

func (d *desk) logged(ctx context.Context, id string) error {
	if err := d.registry.Lock(ctx, id, time.Minute); err != nil { // want `LL3002: when d.registry.Lock fails`
		log.Println(err)
	}
	defer d.registry.Unlock(context.Background(), id)
	return work()
}

func (d *desk) dropped(id string) error {
	_ = d.registry.Lock(context.Background(), id, time.Minute) // want `LL3002: the error of d.registry.Lock is ignored`
	return work()
}

// The second is not got: the first goes.
func (d *desk) both(ctx context.Context, a, b string) error {
	if err := d.registry.Lock(ctx, a, time.Minute); err != nil {
		return err
	}
	if err := d.registry.Lock(ctx, b, time.Minute); err != nil {
		d.registry.Unlock(context.Background(), a)
		return err
	}
	err := work()
	d.registry.Unlock(context.Background(), b)
	d.registry.Unlock(context.Background(), a)
	return err
}

type tx struct{}

func (*tx) Commit() error   { return nil }
func (*tx) Rollback() error { return nil }

type db struct{}

func (*db) Begin() *tx { return &tx{} }

// Only the second is released too early.
func (d *desk) early(ctx context.Context, db *db, a, b string) error {
	if err := d.registry.Lock(ctx, a, time.Minute); err != nil {
		return err
	}
	defer d.registry.Unlock(context.Background(), a)
	if err := d.registry.Lock(ctx, b, time.Minute); err != nil { // want `LL3003: .* is not released on every path: the return at line 81`
		return err
	}
	tx := db.Begin()
	if err := work(); err != nil {
		_ = tx.Rollback()
		return err
	}
	d.registry.Unlock(context.Background(), b) // want `LL3004: the lock from Registry.Lock at line 75 is released before the transaction commits`
	return tx.Commit()
}
