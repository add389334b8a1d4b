package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// A database is a kind of server that the scenarios with SQL start for themselves. It waits for the disk at every commit.
type database string

const (
	onPostgres database = "pg"
	onMySQL    database = "mysql"
	onSQLite   database = "sqlite"
)

// with runs measure against a server of its own with the tables.
func (d database) with(ctx context.Context, measure func(url string) error) (err error) {
	url, stop, err := d.start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	db, err := openDB(url)
	if err != nil {
		return err
	}
	err = sqlstore.CreateTables(ctx, db, sqlstore.Config{})
	for _, text := range d.tables() {
		if err == nil {
			_, err = db.ExecContext(ctx, text)
		}
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return measure(url)
}

// tables are those of the others.
func (d database) tables() []string {
	if d == onPostgres {
		return append([]string{floorTable + " WITH (fillfactor = 50)"}, pglockTables...)
	}
	return []string{floorTable}
}

func (d database) start(ctx context.Context) (url string, stop func() error, err error) {
	flush := testenv.SQLConfig{Flush: true}
	switch d {
	case onPostgres:
		s, err := testenv.StartPostgres(ctx, flush)
		if err != nil {
			return "", nil, err
		}
		return s.URL(), s.Stop, nil
	case onMySQL:
		s, err := testenv.StartMariaDB(ctx, flush)
		if err != nil {
			return "", nil, err
		}
		return "mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(s.DSN()), s.Stop, nil
	}
	dir, err := os.MkdirTemp("", "lockgen-bench-")
	return "sqlite:" + filepath.Join(dir, "locks.db"), func() error { return os.RemoveAll(dir) }, err
}

// sqlPairs is everyday use: nobody else wants the key.
type sqlPairs struct {
	uncontended
	on           database
	peers        []contender
	alone, burst float64 // what is to be reached of the floor
}

func (s sqlPairs) name() string { return string(s.on) + "-uncontended" }

func (s sqlPairs) run(ctx context.Context, b *bench) error {
	return s.on.with(ctx, func(url string) error {
		order := append([]contender{sqlFloor}, append(s.peers, sqlLockgen)...)
		res, err := b.alternate(ctx, s.name(), s.rounds, order, func(ctx context.Context, c contender, _ int) ([]value, error) {
			return s.measure(ctx, c, address{addr: url})
		})
		if err != nil {
			return err
		}
		ours := sqlLockgen.name
		b.report.atLeast(s.name(), fmt.Sprintf("1 goroutine: ≥ %g× the floor", s.alone),
			res.compare(b, ours, sqlFloor.name, pairsAlone), s.alone)
		b.report.atLeast(s.name(), fmt.Sprintf("%d goroutines: ≥ %g× the floor", s.goroutines, s.burst),
			res.compare(b, ours, sqlFloor.name, pairsTogether), s.burst)
		if s.on == onPostgres {
			b.report.atLeast(s.name(), "1 goroutine: ≥ 2× pglock", res.compare(b, ours, pglockPeer.name, pairsAlone), 2)
			b.report.atLeast(s.name(), fmt.Sprintf("%d goroutines: ≥ 4× pglock", s.goroutines),
				res.compare(b, ours, pglockPeer.name, pairsTogether), 4)
			b.report.atMost(s.name(), fmt.Sprintf("%d goroutines: p99 ≤ 0.3× pglock's", s.goroutines),
				res.compare(b, ours, pglockPeer.name, pairP99), 0.3)
		}
		return nil
	})
}

// sqlContended is one key that several processes want all the time.
type sqlContended struct {
	clusterContended
	on    database
	order []contender
}

func (s sqlContended) name() string { return string(s.on) + "-contended" }

func (s sqlContended) run(ctx context.Context, b *bench) error {
	return s.on.with(ctx, func(url string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, s.order, func(ctx context.Context, c contender, round int) ([]value, error) {
			return s.measure(ctx, c, url, fmt.Sprintf("contended-%s-%d", c.name, round))
		})
		if err != nil {
			return err
		}
		b.report.atMost(s.name(), "0 starved in strict order", res.of(sqlStrict.name, starved), 0)
		switch s.on {
		case onSQLite:
			b.report.atMost(s.name(), "strict order: wake-up p50 ≤ 5 ms", res.of(sqlStrict.name, wakeP50), 5)
		case onPostgres:
			b.report.atLeast(s.name(), "strict order: ≥ 2× pglock at leases of 1 s",
				res.compare(b, sqlStrict.name, pglockPeer.name, acquisitions), 2)
			b.report.atMost(s.name(), "strict order: p99 of the wait ≤ 0.2× pglock's",
				res.compare(b, sqlStrict.name, pglockPeer.name, waitP99), 0.2)
		}
		return nil
	})
}

// sqlSeeds is the load of the articles on one key in one process.
type sqlSeeds struct {
	seeds
	on    database
	order []contender
}

func (s sqlSeeds) name() string { return string(s.on) + "-seeds" }

func (s sqlSeeds) run(ctx context.Context, b *bench) error {
	return s.on.with(ctx, func(url string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, s.order, func(ctx context.Context, c contender, round int) ([]value, error) {
			return s.measure(ctx, c, address{addr: url}, fmt.Sprintf("seeds-%d", round))
		})
		if err != nil {
			return err
		}
		if best, found := res.bestPeer(acquisitions); found {
			b.report.atLeast(s.name(), "≥ 20× the best peer", res.compare(b, sqlLockgen.name, best, acquisitions), 20)
		}
		return nil
	})
}

// pgIdle is a long critical section: what those cost who only wait, in transactions of the server.
type pgIdle struct {
	crew   crew
	rounds int
	hold   time.Duration
	// settle is how long the waiters have to find their places, and listeners to make sure that they hear, which is not
	// counted.
	settle time.Duration
}

const statements = "statements/s in all"

func (pgIdle) name() string { return "pg-idle" }

func (s pgIdle) run(ctx context.Context, b *bench) error {
	return onPostgres.with(ctx, func(url string) error {
		res, err := b.alternate(ctx, s.name(), s.rounds, []contender{sqlPolling, sqlLockgen},
			func(ctx context.Context, c contender, round int) ([]value, error) {
				return s.measure(ctx, c, url, fmt.Sprintf("idle-%s-%d", c.name, round))
			})
		if err != nil {
			return err
		}
		b.report.atMost(s.name(), "LISTEN: ≤ 10 statements/s in all", res.of(sqlLockgen.name, statements), 10)
		b.report.atMost(s.name(), "poll: ≤ 5 statements/s per process", res.of(sqlPolling.name, statements),
			5*float64(s.crew.processes+1))
		return nil
	})
}

func (s pgIdle) measure(ctx context.Context, c contender, url, key string) (values []value, err error) {
	db, err := openDB(url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	holder, err := c.open(address{addr: url})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, holder.close()) }()
	unlock, err := holder.lock(ctx, key)
	if err != nil {
		return nil, err
	}
	var rate float64
	_, err = s.crew.work(ctx, c, url, key, func(ctx context.Context) error {
		if err := sleep(ctx, s.settle); err != nil {
			return err
		}
		before, err := transactions(ctx, db)
		if err != nil {
			return err
		}
		if err := sleep(ctx, s.hold); err != nil {
			return err
		}
		after, err := transactions(ctx, db)
		rate = float64(after-before-1) / s.hold.Seconds()
		return err
	})
	if err := errors.Join(err, unlock(ctx)); err != nil {
		return nil, err
	}
	return []value{{statements, rate}}, nil
}

// transactions counts those of all backends: each statement of ours is one. A backend tells with a delay of a second.
func transactions(ctx context.Context, db *sql.DB) (n int64, err error) {
	if err := sleep(ctx, 1100*time.Millisecond); err != nil {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()").Scan(&n)
	return n, err
}
