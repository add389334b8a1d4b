package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite": no C compiler needed

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/runtime/fence"
)

const (
	// dbTimeout bounds the wait for a server that does not answer at the start.
	dbTimeout = 5 * time.Second
	// allConnections are shared by the instances: PostgreSQL takes 100 by default.
	allConnections = 60
)

// database says how to open a database.
type database struct {
	driver  string
	dsn     string
	dialect fence.Dialect
	where   string // for people: without user and password
}

const wantDatabase = "want sqlite:FILE, postgres://user:password@host:port/db or mysql://user:password@host:port/db, " +
	"with special characters of the password as %XX"

// parseDatabase understands -db; the zero database is the temporary file.
// Neither the URL nor what the parsers say about it is repeated: both may show the
// password.
func parseDatabase(text string) (database, error) {
	if text == "" {
		return database{}, nil
	}
	if file, ok := strings.CutPrefix(text, sqliteFile); ok && file != "" {
		return sqliteDatabase(file), nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return database{}, cli.FlagError("%s", "-db is not a URL: "+wantDatabase)
	}
	name := strings.TrimPrefix(u.Path, "/")
	where := fmt.Sprintf("%s at %s, database %s", u.Scheme, u.Host, name)
	switch u.Scheme {
	case "postgres", "postgresql":
		if _, err := pgx.ParseConfig(text); err != nil {
			return database{}, cli.FlagError("%s", "-db is not a URL that the PostgreSQL client understands: "+wantDatabase)
		}
		return database{driver: "pgx", dsn: text, dialect: fence.Postgres, where: where}, nil
	case "mysql":
		if u.Host == "" || name == "" {
			return database{}, cli.FlagError("%s", "-db has no host or no database: "+wantDatabase)
		}
		return database{driver: "mysql", dsn: mysqlDSN(u, name), dialect: fence.MySQL, where: where}, nil
	}
	return database{}, cli.FlagError("%s", "-db is of no known kind: "+wantDatabase)
}

// sqliteDatabase waits for other writers instead of failing. Transactions take the
// write lock when they begin, since one that begins by reading could not write
// any more after another has.
func sqliteDatabase(file string) database {
	options := "?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(30000)"
	escaped := (&url.URL{Path: file}).EscapedPath()
	return database{driver: "sqlite", dsn: "file:" + escaped + options, dialect: fence.SQLite, where: "SQLite in " + file}
}

func mysqlDSN(u *url.URL, name string) string {
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr, cfg.DBName = "tcp", u.Host, name
	cfg.InterpolateParams = true // one round trip for each statement
	cfg.Timeout = dbTimeout
	return cfg.FormatDSN()
}

// open connects and waits for an answer. instances is how many share the server.
func (d database) open(ctx context.Context, instances int) (*sql.DB, error) {
	db, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		return nil, fmt.Errorf("open the database (%s): %w", d.where, err)
	}
	connections := max(2, allConnections/(instances+1))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	ctx, cancel := context.WithTimeout(ctx, dbTimeout)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot reach the database (%s): %w (%s)", d.where, err, d.advice()), db.Close())
	}
	return db, nil
}

// advice is what to look at when the database does not answer.
func (d database) advice() string {
	if d.dialect == fence.SQLite {
		return "does the directory exist, and may files be written there?"
	}
	return "is the server running, and are address, user, password and name in -db right?"
}

// bind writes the placeholders of the dialect in place of the question marks.
func (d database) bind(query string) string {
	if d.dialect != fence.Postgres {
		return query
	}
	for n := 1; strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}
