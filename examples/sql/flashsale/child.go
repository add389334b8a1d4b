package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"

	"github.com/lockgen/lockgen/examples/internal/child"
	lockrt "github.com/lockgen/lockgen/runtime"
	_ "github.com/lockgen/lockgen/runtime/redisstore" // the redis: schemes of lockrt.Open
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/sqlstore/pgxlisten"
)

// childRole, as the first argument of the command, makes it an instance.
const childRole = "instance"

// childSetup is what an instance that is a process is told.
type childSetup struct {
	Name      string `json:"name"`
	Store     string `json:"store"`
	Namespace string `json:"namespace"`
	DB        string `json:"db"`
	Sale      string `json:"sale"`
	Instances int    `json:"instances"`
	Unsafe    bool   `json:"unsafe"`
}

// runChild is the command as an instance. It tells its parent where it serves.
func runChild(ctx context.Context, setup childSetup, parent *child.Parent) (err error) {
	inst, err := setup.start(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	parent.Ready(inst.url())
	<-ctx.Done()
	return errors.Join(inst.close(), inst.shop.sale.db.Close())
}

func (c childSetup) start(logger *slog.Logger) (*instance, error) {
	ctx := context.Background()
	d, err := parseDatabase(c.DB)
	if err != nil {
		return nil, err
	}
	db, err := d.open(ctx, c.Instances)
	if err != nil {
		return nil, err
	}
	cfg := lockrt.Config{Namespace: c.Namespace, Node: c.Name, Logger: logger.With("instance", c.Name)}
	locks, err := c.locks(ctx, db, cfg)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	inst, err := startInstance(&shop{c.Name, &sale{c.Sale, db, d}, locks}, c.Unsafe)
	if err != nil {
		return nil, errors.Join(err, locks.Close(ctx), db.Close())
	}
	return inst, nil
}

// locks opens the Locker. Locks in the database of the orders share its connections.
func (c childSetup) locks(ctx context.Context, db *sql.DB, cfg lockrt.Config) (*lockrt.Locker, error) {
	if c.Store != c.DB {
		return lockrt.Open(ctx, c.Store, cfg)
	}
	listener, err := pgxlisten.New(c.DB)
	if err != nil {
		return nil, err
	}
	return lockrt.New(sqlstore.New(db, sqlstore.Config{Listener: listener}), cfg)
}
