package ll3004

import (
	"context"
	"database/sql"
	"time"

	"github.com/bsm/redislock"
)

// A transaction of the program's own, with methods that do more than those of the library.
type safeTx struct {
	*sql.Tx
	over bool
}

func (tx *safeTx) SafeCommit() error   { tx.over = true; return tx.Commit() }
func (tx *safeTx) SafeRollback() error { return tx.Rollback() }

type pool struct{ db *sql.DB }

func (p *pool) Begin() (*safeTx, error) {
	tx, err := p.db.Begin()
	return &safeTx{Tx: tx}, err
}

func safely(ctx context.Context, c *redislock.Client, p *pool) error {
	tx, err := p.Begin()
	if err != nil {
		return err
	}
	defer tx.SafeRollback()
	lock, err := c.Obtain(ctx, "a", time.Minute, nil) // want `LL3004: the lock from Obtain is taken inside the transaction begun at line 28`
	if err != nil {
		return err
	}
	defer lock.Release(context.Background())
	return tx.SafeCommit()
}

func safelyBehind(ctx context.Context, c *redislock.Client, p *pool) error {
	tx, err := p.Begin()
	if err != nil {
		return err
	}
	if err := tx.SafeCommit(); err != nil {
		return err
	}
	lock, err := c.Obtain(ctx, "a", time.Minute, nil)
	if err != nil {
		return err
	}
	return lock.Release(context.Background())
}
