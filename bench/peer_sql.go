package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/sqlstore/pgxlisten"
)

// The contenders on SQL databases. The address of each is a URL as lockrt.Open takes it. All of them have ten
// connections.
var (
	sqlLockgen  = contender{name: "lockgen-sql", open: func(at address) (locks, error) { return openSQLLockgen(at, 0, true) }}
	sqlStrict   = contender{name: "lockgen-sql-fifo", open: func(at address) (locks, error) { return openSQLLockgen(at, -1, true) }}
	sqlPolling  = contender{name: "lockgen-sql-poll", open: func(at address) (locks, error) { return openSQLLockgen(at, 0, false) }}
	sqlFloor    = contender{name: "sql-floor", open: openSQLFloor}
	pgAdvisory  = contender{name: "pg-advisory", open: openPgAdvisory}
	mysqlGetter = contender{name: "mysql-get-lock", open: openGetLock}
)

const sqlConns = 10

// openDB opens a pool by URL.
func openDB(url string) (*sql.DB, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	var db *sql.DB
	var err error
	switch scheme {
	case "postgres":
		db, err = sql.Open("pgx", url)
	case "mysql":
		user, rest, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "@")
		addr, name, _ := strings.Cut(rest, "/")
		db, err = sql.Open("mysql", user+"@tcp("+addr+")/"+name+"?interpolateParams=true")
	case "sqlite":
		db, err = sql.Open("sqlite", "file:"+rest+
			"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	default:
		return nil, fmt.Errorf("no database has URLs of scheme %q", scheme)
	}
	if err == nil {
		db.SetMaxOpenConns(sqlConns)
		db.SetMaxIdleConns(sqlConns)
	}
	return db, err
}

type sqlLockgenLocks struct {
	db     *sql.DB
	locker *lockrt.Locker
}

func openSQLLockgen(at address, handoffs int, listen bool) (locks, error) {
	db, err := openDB(at.addr)
	if err != nil {
		return nil, err
	}
	var cfg sqlstore.Config
	if listen && strings.HasPrefix(at.addr, "postgres:") {
		if cfg.Listener, err = pgxlisten.New(at.addr); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	locker, err := lockrt.New(sqlstore.New(db, cfg), lockrt.Config{Node: "bench", LocalHandoffs: handoffs})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqlLockgenLocks{db, locker}, nil
}

func (l *sqlLockgenLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	lease, err := l.locker.Acquire(ctx, key, lockrt.Options{TTL: leaseTime, Wait: lockrt.Forever})
	if err != nil {
		return nil, err
	}
	return lease.Release, nil
}

func (l *sqlLockgenLocks) close() error {
	return errors.Join(l.locker.Close(context.Background()), l.db.Close())
}

// floor is a row with an expiry, taken and freed by one statement each: what a lock with a lease costs at the least. It
// does not wait: it is for keys that nobody else wants.
type floor struct {
	db         *sql.DB
	take, free string
}

const floorTable = "CREATE TABLE bench_floor (name varchar(200) PRIMARY KEY, until bigint NOT NULL, fence bigint NOT NULL)"

func openSQLFloor(at address) (locks, error) {
	db, err := openDB(at.addr)
	if err != nil {
		return nil, err
	}
	f := &floor{db: db}
	const columns = "INSERT INTO bench_floor (name, until, fence) VALUES "
	switch {
	case strings.HasPrefix(at.addr, "postgres:"):
		f.take = columns + `($1, extract(epoch FROM clock_timestamp()) + 30, 1) ON CONFLICT (name) DO UPDATE
SET until = excluded.until, fence = bench_floor.fence + 1
WHERE bench_floor.until < extract(epoch FROM clock_timestamp()) RETURNING fence`
		f.free = "UPDATE bench_floor SET until = 0 WHERE name = $1 AND until > 0"
	case strings.HasPrefix(at.addr, "mysql:"):
		f.take = columns + `(?, unix_timestamp() + 30, 1) ON DUPLICATE KEY UPDATE
fence = IF(until < unix_timestamp(), fence + 1, fence), until = IF(until < unix_timestamp(), VALUES(until), until)`
		f.free = "UPDATE bench_floor SET until = 0 WHERE name = ? AND until > 0"
	default:
		f.take = columns + `(?, unixepoch() + 30, 1) ON CONFLICT (name) DO UPDATE SET until = excluded.until, fence = fence + 1
WHERE until < unixepoch()`
		f.free = "UPDATE bench_floor SET until = 0 WHERE name = ? AND until > 0"
	}
	return f, nil
}

func (f *floor) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	if err := changed(f.db.ExecContext(ctx, f.take, key)); err != nil {
		return nil, fmt.Errorf("take %s: %w", key, err)
	}
	return func(ctx context.Context) error { return changed(f.db.ExecContext(ctx, f.free, key)) }, nil
}

func (f *floor) close() error { return f.db.Close() }

// changed reports an error if a statement has changed nothing.
func changed(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errors.New("no row was changed"))
	}
	return nil
}

// session is a lock that belongs to a connection, which each holder and each waiter has for itself.
type session struct {
	db         *sql.DB
	take, free string
}

// openPgAdvisory waits inside the server, as que, Atlas and many others do. Nothing is flushed, and no lease ends.
func openPgAdvisory(at address) (locks, error) {
	db, err := openDB(at.addr)
	return &session{db, "SELECT pg_advisory_lock(hashtextextended($1, 0))", "SELECT pg_advisory_unlock(hashtextextended($1, 0))"}, err
}

func openGetLock(at address) (locks, error) {
	db, err := openDB(at.addr)
	return &session{db, "SELECT GET_LOCK(SHA2(?, 224), 60)", "SELECT RELEASE_LOCK(SHA2(?, 224))"}, err
}

func (s *session) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var answer any
	if err := conn.QueryRowContext(ctx, s.take, key).Scan(&answer); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func(ctx context.Context) error {
		defer conn.Close()
		return conn.QueryRowContext(ctx, s.free, key).Scan(&answer)
	}, nil
}

func (s *session) close() error { return s.db.Close() }
