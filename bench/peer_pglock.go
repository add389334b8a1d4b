package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// cirello.io/pglock cannot be had through the module proxy, so its statements stand here, as its client.go sends them: a
// number of a sequence, an insert that writes also where the lock is busy, and a delete that frees it. Who finds it busy
// sleeps for a whole lease and then takes it over if its number has not changed. Leases are of 1 s, not of its default of
// 20 s, with a heartbeat at once and then every third of that while a lock is held. Its Release cancels the heartbeat that
// is under way; where that has been done all the same, the release finds another number and the lock stays for a lease. So
// that pairs can be counted, that heartbeat is awaited here. "still" is what it does if it is told to send none.
var (
	pglockPeer  = contender{name: "pglock-1s", peer: true, open: func(at address) (locks, error) { return openPglock(at, true) }}
	pglockStill = contender{name: "pglock-1s-still", peer: true, open: func(at address) (locks, error) { return openPglock(at, false) }}
)

const pglockLease = time.Second

type pglock struct {
	db    *sql.DB
	beats bool
}

func openPglock(at address, beats bool) (locks, error) {
	db, err := openDB(at.addr)
	return &pglock{db, beats}, err
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

const (
	pglockNumber = `SELECT nextval('bench_pglock_rvn')`
	pglockBeat   = `UPDATE bench_pglock SET record_version_number = $3 WHERE name = $1 AND record_version_number = $2`
	pglockFree   = `DELETE FROM bench_pglock WHERE name = $1 AND record_version_number = $2`
)

func (p *pglock) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	seen := int64(-1)
	for {
		var mine, got int64
		if err := p.db.QueryRowContext(ctx, pglockNumber).Scan(&mine); err != nil {
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
	var beating sync.WaitGroup // what it waits for changes mine
	if p.beats {
		beating.Go(func() {
			for {
				var next int64
				if p.db.QueryRow(pglockNumber).Scan(&next) != nil || changed(p.db.Exec(pglockBeat, key, mine, next)) != nil {
					return // as its client does: the lease is not kept any more
				}
				mine = next
				if sleep(ctx, pglockLease/3) != nil {
					return
				}
			}
		})
	}
	return func(ctx context.Context) error {
		stop()
		beating.Wait()
		if err := changed(p.db.ExecContext(ctx, pglockFree, key, mine)); err != nil {
			return fmt.Errorf("release %s: %w", key, err)
		}
		return nil
	}
}

func (p *pglock) close() error { return p.db.Close() }
