package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// cirello.io/pglock cannot be had through the module proxy, so its statements stand here, in the order in which its client.go
// sends them: a number of a sequence, an upsert that writes also where the lock is busy, and a delete that frees it. Who
// finds it busy sleeps for a whole lease and then takes it over if its number has not changed. Leases are of 1 s, not of
// its default of 20 s, with a heartbeat at once, which a release cancels as a rule, and then every third of a lease. Where the
// cancelled one was done all the same, its release finds another number and leaves the lock taken for a lease; so that
// pairs can be counted it is freed here. "still" is what it does if it is told to send no heartbeats.
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

const (
	pglockSame = `COALESCE(bench_pglock.record_version_number = $3, TRUE)`
	pglockTake = `INSERT INTO bench_pglock (name, record_version_number, data, owner) VALUES ($1, $2, '', 'bench')
ON CONFLICT (name) DO UPDATE SET
  record_version_number = CASE WHEN ` + pglockSame + ` THEN $2 ELSE bench_pglock.record_version_number END,
  data = CASE WHEN ` + pglockSame + ` AND FALSE THEN '' ELSE bench_pglock.data END,
  owner = CASE WHEN ` + pglockSame + ` THEN 'bench' ELSE bench_pglock.owner END
RETURNING record_version_number, data, owner`
)

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
		if err := p.db.QueryRowContext(ctx, pglockTake, key, mine, seen).Scan(&got, new([]byte), new(string)); err != nil {
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
	next := mine               // of the last heartbeat
	var beating sync.WaitGroup // what it waits for changes both
	if p.beats {
		beating.Go(func() {
			for {
				if p.db.QueryRowContext(ctx, pglockNumber).Scan(&next) != nil ||
					changed(p.db.ExecContext(ctx, pglockBeat, key, mine, next)) != nil {
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
		err := changed(p.db.ExecContext(ctx, pglockFree, key, mine))
		if err != nil && next != mine {
			err = changed(p.db.ExecContext(ctx, pglockFree, key, next))
		}
		if err != nil {
			return fmt.Errorf("release %s: %w", key, err)
		}
		return nil
	}
}

func (p *pglock) close() error { return p.db.Close() }
