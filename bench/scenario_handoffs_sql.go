package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// pgHandoffs is many keys in PostgreSQL that pass from process to process at the same time. One contender is this library
// as it is, which notifies whoever is next from a connection of its own, after the commit. The other has a NOTIFY in every commit
// that passes a lock on, and those PostgreSQL lets happen one at a time.
type pgHandoffs struct {
	rounds    int
	keys      int
	processes int // as the server sees it: each has its own pool, and one caller for each key
	window    time.Duration
}

var sqlInside = contender{name: "lockgen-sql-notify-inside", open: sqlStrict.open}

const (
	commitP99     = "other writer: commit p99 ms"
	commitP99Idle = "other writer: commit p99 ms, idle"
)

// insideTrigger notifies in each change of a lock.
var insideTrigger = []string{
	`CREATE FUNCTION bench_notify() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_notify('bench', NEW.session); RETURN NULL; END $$`,
	`CREATE TRIGGER bench_inside AFTER INSERT OR UPDATE ON lockgen_lock FOR EACH ROW EXECUTE FUNCTION bench_notify()`,
}

func (pgHandoffs) name() string { return "pg-handoffs" }

func (s pgHandoffs) run(ctx context.Context, b *bench) error {
	return onPostgres.with(ctx, func(url string) (err error) {
		db, err := openDB(url)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		for _, text := range insideTrigger {
			if _, err := db.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		res, err := b.alternate(ctx, s.name(), s.rounds, []contender{sqlInside, sqlStrict},
			func(ctx context.Context, c contender, round int) ([]value, error) {
				verb := "DISABLE"
				if c.name == sqlInside.name {
					verb = "ENABLE"
				}
				if _, err := db.ExecContext(ctx, "ALTER TABLE lockgen_lock "+verb+" TRIGGER bench_inside"); err != nil {
					return nil, err
				}
				return s.measure(ctx, c, db, url, round)
			})
		if err != nil {
			return err
		}
		b.report.atLeast(s.name(), "≥ 2× the same with NOTIFY inside",
			res.compare(b, sqlStrict.name, sqlInside.name, acquisitions), 2)
		b.report.atMost(s.name(), "other writers' commit p99 ≤ 1.2× idle",
			ratios(res.of(sqlStrict.name, commitP99), res.of(sqlStrict.name, commitP99Idle)), 1.2)
		return nil
	})
}

func (s pgHandoffs) measure(ctx context.Context, c contender, db *sql.DB, url string, round int) (values []value, err error) {
	idle, err := commitLatencies(ctx, db, s.window/2)
	if err != nil {
		return nil, err
	}
	var all []locks
	defer func() {
		for _, l := range all {
			err = errors.Join(err, l.close())
		}
	}()
	for i := range s.processes {
		l, err := c.open(address{addr: url})
		if err != nil {
			return nil, err
		}
		all = append(all, l)
		if err := warmUp(ctx, l, fmt.Sprint("warm-up-", i)); err != nil {
			return nil, err
		}
	}
	guards := make([]*guard, s.keys)
	for i := range guards {
		guards[i] = newGuard()
	}
	window, cancel := context.WithTimeoutCause(ctx, s.window, errWindowOver)
	defer cancel()
	var busy []time.Duration
	acquired := make([]int, s.keys*s.processes)
	took, err := burst(ctx, len(acquired)+1, func(ctx context.Context, i int) (err error) {
		if i == len(acquired) {
			busy, err = commitLatencies(ctx, db, s.window)
			return err
		}
		key := i / s.processes
		for window.Err() == nil {
			unlock, err := c.lockWithin(ctx, window, all[i%s.processes], fmt.Sprintf("handoffs-%s-%d-%d", c.name, round, key))
			if err != nil {
				return unlessOver(window, err)
			}
			entry := guards[key].enter(uint64(i + 1))
			guards[key].leave(uint64(i+1), entry)
			acquired[i]++
			if err := unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sum, empty := 0, 0
	for key, g := range guards {
		here := 0
		for _, n := range acquired[key*s.processes : (key+1)*s.processes] {
			here += n
			if n == 0 {
				empty++
			}
		}
		if err := g.check(c.name, here); err != nil {
			return nil, err
		}
		sum += here
	}
	return []value{
		{acquisitions, perSecond(sum, took)}, {starved, float64(empty)},
		{commitP99, millisOf(quantile(busy, 0.99))}, {commitP99Idle, millisOf(quantile(idle, 0.99))},
	}, nil
}
