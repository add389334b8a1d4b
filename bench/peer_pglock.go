package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// cirello.io/pglock cannot be had through the module proxy, so its statements stand here, as its client.go sends them: a
// number of a sequence, an insert that writes also where the lock is busy, and an update that frees it. Who finds it busy
// sleeps for a whole lease and then takes it over if its number has not changed. Leases are of 1 s, not of its default of
// 20 s, with a heartbeat every third of that while a lock is held.
var pglockPeer = contender{name: "pglock-1s", peer: true, open: openPglock}

const pglockLease = time.Second

type pglock struct{ db *sql.DB }

func openPglock(at address) (locks, error) {
	db, err := openDB(at.addr)
	return &pglock{db}, err
}

var pglockTables = []string{
	`CREATE TABLE bench_pglock (name varchar(255) PRIMARY KEY, record_version_number bigint, data bytea, owner varchar(255))`,
	`CREATE SEQUENCE bench_pglock_rvn OWNED BY bench_pglock.record_version_number`,
}

const pglockTake = `INSERT INTO bench_pglock (name, record_version_number, data, owner) VALUES ($1, $2, '', 'bench')
ON CONFLICT (name) DO UPDATE SET record_version_number = CASE
  WHEN COALESCE(bench_pglock.record_version_number = $3, TRUE) THEN $2
  ELSE bench_pglock.record_version_number END
RETURNING record_version_number`

func (p *pglock) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	seen := int64(-1)
	for {
		var mine, got int64
		if err := p.db.QueryRowContext(ctx, "SELECT nextval('bench_pglock_rvn')").Scan(&mine); err != nil {
			return nil, err
		}
		if err := p.db.QueryRowContext(ctx, pglockTake, key, mine, seen).Scan(&got); err != nil {
			return nil, err
		}
		if got == mine {
			return p.hold(key, mine), nil
		}
		seen = got
		if err := sleep(ctx, pglockLease); err != nil {
			return nil, err
		}
	}
}

// hold keeps a lock by its heartbeat until what it returns is called.
func (p *pglock) hold(key string, mine int64) func(context.Context) error {
	ctx, stop := context.WithCancel(context.Background())
	var mu sync.Mutex // guards mine
	var beating sync.WaitGroup
	beating.Go(func() {
		for sleep(ctx, pglockLease/3) == nil {
			mu.Lock()
			const beat = `UPDATE bench_pglock SET record_version_number = nextval('bench_pglock_rvn')
WHERE name = $1 AND record_version_number = $2 RETURNING record_version_number`
			_ = p.db.QueryRowContext(ctx, beat, key, mine).Scan(&mine)
			mu.Unlock()
		}
	})
	return func(ctx context.Context) error {
		stop()
		beating.Wait()
		err := changed(p.db.ExecContext(ctx,
			"UPDATE bench_pglock SET record_version_number = NULL WHERE name = $1 AND record_version_number = $2", key, mine))
		if err != nil {
			return fmt.Errorf("release %s: %w", key, err)
		}
		return nil
	}
}

func (p *pglock) close() error { return p.db.Close() }
