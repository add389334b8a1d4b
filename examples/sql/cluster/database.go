package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	neturl "net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite": no C compiler needed

	"github.com/lockgen/lockgen/examples/internal/cli"
	jobsql "github.com/lockgen/lockgen/jobs/sqlstore" // and the schemes of lockrt.Open
	locksql "github.com/lockgen/lockgen/runtime/sqlstore"
)

// drivers of database/sql by the scheme of -store.
var drivers = map[string]string{"postgres": "pgx", "postgresql": "pgx", "mysql": "mysql", "sqlite": "sqlite"}

// reachTimeout bounds the wait for a server that does not answer at the start.
const reachTimeout = 10 * time.Second

// openDatabase connects, and creates the tables of locks, jobs and orders if they are not there.
func openDatabase(ctx context.Context, o options) (*sql.DB, error) {
	db, err := connect(o.database(), o.databaseFlag())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot reach the database of %s: %w", o.databaseFlag(), err), db.Close())
	}
	if err := createTables(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connect returns a pool of connections. It does not contact the server. flag is where the URL comes from.
func connect(url, flag string) (*sql.DB, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	dsn := url
	switch scheme {
	case "mysql":
		u, err := neturl.Parse(url)
		if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
			return nil, cli.FlagError("%s has no host or no database: %s", flag, wantStore)
		}
		cfg := mysql.NewConfig()
		cfg.User, cfg.Net, cfg.Addr, cfg.DBName = u.User.Username(), "tcp", u.Host, strings.Trim(u.Path, "/")
		cfg.Passwd, _ = u.User.Password()
		cfg.InterpolateParams = true
		dsn = cfg.FormatDSN()
	case "sqlite":
		dsn = "file:" + (&neturl.URL{Path: rest}).EscapedPath() +
			"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
	}
	db, err := sql.Open(drivers[scheme], dsn)
	if err != nil {
		return nil, cli.FlagError("%s cannot be read: %s", flag, wantStore)
	}
	return db, nil
}

func createTables(ctx context.Context, db *sql.DB) error {
	err := errors.Join(locksql.CreateTables(ctx, db, locksql.Config{}), jobsql.CreateTables(ctx, db, jobsql.Config{}))
	if err == nil {
		_, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS cluster_order (id varchar(100) PRIMARY KEY)")
	}
	return err
}

// forget removes what a run of the example left: jobs of removed programs would be shown for long.
func forget(db *sql.DB, namespace string) error {
	ctx, cancel := context.WithTimeout(context.Background(), reachTimeout)
	defer cancel()
	var errs []error
	for _, table := range []string{"job", "run", "record", "failure", "notice", "oneoff", "node"} {
		_, err := db.ExecContext(ctx, fmt.Sprintf("DELETE FROM lockgen_%s WHERE namespace = %s", table, hexOf(db, namespace)))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// hexOf writes a name, which is letters and digits, as a literal of bytes.
func hexOf(db *sql.DB, name string) string {
	if strings.Contains(fmt.Sprintf("%T", db.Driver()), "stdlib") { // PostgreSQL
		return fmt.Sprintf(`'\x%x'`, name)
	}
	return fmt.Sprintf("x'%x'", name)
}
