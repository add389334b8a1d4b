package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// pgRenew is one process that holds very many leases in PostgreSQL, and another writer of the same server.
type pgRenew struct{ renew }

var (
	pgRenewFull  = pgRenew{renewFull}
	pgRenewQuick = pgRenew{renew{leases: 500, ttl: 3 * time.Second, idle: 300 * time.Millisecond, watch: 4 * time.Second}}
)

// pgRenewAsk is few enough that the questions do not keep the renewals waiting.
const pgRenewAsk = 1000

func (pgRenew) name() string { return "pg-renew" }

func (s pgRenew) run(ctx context.Context, b *bench) error {
	return onPostgres.with(ctx, func(url string) (err error) {
		db, err := openDB(url)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		fmt.Fprintf(b.progress, "%s: %d leases, ttl %s\n", s.name(), s.leases, s.ttl)
		idle, err := commitLatencies(ctx, db, s.idle)
		if err != nil {
			return err
		}
		w, err := startWorker(ctx, holderWorker, holderOrders{Addr: url, Leases: s.leases, TTL: s.ttl, Ask: pgRenewAsk})
		if err != nil {
			return err
		}
		defer w.close()
		if err := errors.Join(w.awaitReady(), w.say("go")); err != nil {
			return err
		}
		before, err := postgresCPU(ctx, db)
		if err != nil {
			return err
		}
		begun := time.Now()
		busy, err := commitLatencies(ctx, db, s.watch)
		if err != nil {
			return err
		}
		elapsed := time.Since(begun)
		after, err := postgresCPU(ctx, db)
		if err != nil {
			return err
		}
		var found holderFound
		if err := errors.Join(w.say("stop"), w.result(&found)); err != nil {
			return err
		}
		s.tell(&b.report, found, idle, busy, 100*(after-before).Seconds()/elapsed.Seconds())
		return nil
	})
}

func (s pgRenew) tell(r *report, found holderFound, idle, busy []time.Duration, server float64) {
	one := func(contender, metric string, v float64) { r.add(s.name(), contender, metric, []float64{v}) }
	ours := sqlLockgen.name
	one(ours, "leases", float64(s.leases))
	one(ours, "leases/s acquired at the start", perSecond(s.leases, found.Acquired))
	one(ours, "leases lost", float64(found.Lost))
	one(ours, "server, with the other writer: % of one core", server)
	one(ours, "holder: % of one core", 100*found.CPU.Seconds()/found.Elapsed.Seconds())
	one("other writer", "commit p50 ms, idle", millisOf(quantile(idle, 0.5)))
	one("other writer", "commit p50 ms, renewing", millisOf(quantile(busy, 0.5)))
	one("other writer", "commit p99 ms, idle", millisOf(quantile(idle, 0.99)))
	one("other writer", "commit p99 ms, renewing", millisOf(quantile(busy, 0.99)))
	r.atMost(s.name(), "none lost", []float64{float64(found.Lost)}, 0)
	r.atMost(s.name(), "≤ 40 % of one server core", []float64{server}, 40)
}

// commitEvery is the pause of the other writer between two commits.
const commitEvery = 20 * time.Millisecond

// commitLatencies is another writer, with a row of its own.
func commitLatencies(ctx context.Context, db *sql.DB, d time.Duration) (took []time.Duration, err error) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		sent := time.Now()
		_, err := db.ExecContext(ctx, "INSERT INTO bench_floor (name, until, fence) VALUES ('other writer', 0, 1) "+
			"ON CONFLICT (name) DO UPDATE SET fence = bench_floor.fence + 1")
		if err != nil {
			return nil, fmt.Errorf("commit as another writer: %w", err)
		}
		took = append(took, time.Since(sent))
		if err := sleep(ctx, commitEvery); err != nil {
			return nil, err
		}
	}
	return took, nil
}
