package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func init() {
	for scheme, open := range map[string]func(url string) (*sql.DB, Config, error){
		"postgres": openPostgres, "postgresql": openPostgres, "mysql": openMySQL, "sqlite": openSQLite,
	} {
		lockrt.Register(scheme, func(ctx context.Context, url string) (lockrt.Store, error) { return openURL(ctx, url, open) })
	}
}

const (
	// ownConns is how many connections a pool of our own has: those of callers, and one each for polls and renewals.
	ownConns = callerConns + 2
	// idleTime is less than proxies and servers let connections be idle, as a rule.
	idleTime = 3 * time.Minute
)

// openURL returns a store with a pool of its own, after the server was examined.
func openURL(ctx context.Context, url string, open func(string) (*sql.DB, Config, error)) (lockrt.Store, error) {
	db, cfg, err := open(url)
	if err != nil {
		return nil, err
	}
	if cfg.Dialect != SQLite {
		db.SetMaxOpenConns(ownConns)
		db.SetMaxIdleConns(ownConns)
		db.SetConnMaxIdleTime(idleTime)
	}
	if cfg.Dialect == Postgres {
		if cfg.Listener, err = listenerFor(url); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	s := New(db, cfg)
	s.owned = true
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if _, err := s.ready(limited); err != nil {
		_ = db.Close()
		if ctx.Err() == nil && isContext(err) {
			err = s.newTimeout(err, callTime)
		}
		return nil, fmt.Errorf("%s: %w", cfg.Dialect, err)
	}
	return s, nil
}

// driverOf returns the first of the drivers that is linked into the program.
func driverOf(imports string, names ...string) (string, error) {
	linked := sql.Drivers()
	for _, name := range names {
		if slices.Contains(linked, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w: no driver of database/sql is linked for it; add import _ %s", lockrt.ErrOptions, imports)
}

// openPostgres passes the URL on as it is: both drivers read it.
func openPostgres(text string) (*sql.DB, Config, error) {
	cfg := Config{Dialect: Postgres}
	name, err := driverOf(`"github.com/jackc/pgx/v5/stdlib" (or "github.com/lib/pq")`, "pgx", "postgres")
	if err != nil {
		return nil, cfg, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, cfg, urlError(err)
	}
	if !u.Query().Has("application_name") {
		// Added and not encoded anew: the drivers take a plus for a plus.
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&application_name=lockgen", "&")
	}
	db, err := sql.Open(name, u.String())
	return db, cfg, withoutURL(err, u)
}

// callSeconds is callTime as servers have it.
var callSeconds = decimal(int64(callTime / time.Second))

// openMySQL writes the URL in the form of the driver github.com/go-sql-driver/mysql.
func openMySQL(text string) (*sql.DB, Config, error) {
	cfg := Config{Dialect: MySQL}
	name, err := driverOf(`"github.com/go-sql-driver/mysql"`, "mysql")
	if err != nil {
		return nil, cfg, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, cfg, urlError(err)
	}
	if u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return nil, cfg, fmt.Errorf("%w: write mysql://user:password@host:3306/database", lockrt.ErrOptions)
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = "3306"
	}
	query := u.Query()
	for key, value := range map[string]string{
		"interpolateParams": "true", // one round trip for a statement, and not two
		"timeout":           "5s",
		// What waits at the server has no caller any more by then. It would keep its connection there until the end of a
		// lock on its row or its table, and others would come after it.
		"innodb_lock_wait_timeout": callSeconds,
		"lock_wait_timeout":        callSeconds,
	} {
		if !query.Has(key) {
			query.Set(key, value)
		}
	}
	user := u.User.Username()
	if password, ok := u.User.Password(); ok {
		user += ":" + password
	}
	dsn := fmt.Sprintf("%s@tcp(%s)/%s?%s",
		user, net.JoinHostPort(host, port), url.PathEscape(strings.Trim(u.Path, "/")), query.Encode())
	db, err := sql.Open(name, dsn)
	return db, cfg, withoutURL(err, u)
}

// openSQLite opens a file. Its settings are made on every connection by statements, because each driver has a syntax
// of its own for them.
func openSQLite(text string) (*sql.DB, Config, error) {
	cfg := Config{Dialect: SQLite}
	name, err := driverOf(`"modernc.org/sqlite" (or "github.com/mattn/go-sqlite3")`, "sqlite", "sqlite3")
	if err != nil {
		return nil, cfg, err
	}
	file := strings.TrimPrefix(strings.TrimPrefix(text, "sqlite:"), "//")
	if file == "" || strings.Contains(file, ":memory:") || strings.Contains(file, "mode=memory") {
		return nil, cfg, fmt.Errorf("%w: write sqlite:FILE; a database in memory is seen by this process alone, and memory: "+
			"is meant for that", lockrt.ErrOptions)
	}
	if strings.Contains(file, "?") { // which may have a key
		return nil, cfg, fmt.Errorf("%w: write sqlite:FILE without parameters; for a pool with settings of its own use "+
			"sqlstore.New", lockrt.ErrOptions)
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) { // the driver would create it, for nothing
		return nil, cfg, fmt.Errorf("%w; create it and its tables by CreateTables with a *sql.DB for it", err)
	}
	// All connections open the file that has the name now, wherever the process goes, and whatever becomes of the name.
	named := file
	if !filepath.IsAbs(file) {
		dir, err := os.Getwd()
		if err != nil {
			return nil, cfg, err
		}
		named = dir + string(filepath.Separator) + file // not shortened: it may go up behind a link
	}
	if file, err = filepath.EvalSymlinks(named); err != nil {
		return nil, cfg, err
	}
	db, err := sql.Open(name, file)
	if err != nil {
		return nil, cfg, err
	}
	linked := db.Driver()
	_ = db.Close()
	db = sql.OpenDB(&sqliteConnector{driver: linked, file: file})
	sqldialect.FileOf(db).Named(named)
	db.SetMaxOpenConns(minPool) // there is one writer at a time
	db.SetMaxIdleConns(minPool)
	return db, cfg, nil
}

// sqliteConnector opens connections that wait for each other.
type sqliteConnector struct {
	driver driver.Driver
	file   string
}

// Driver implements driver.Connector.
func (c *sqliteConnector) Driver() driver.Driver { return c.driver }

// Connect implements driver.Connector.
func (c *sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.file)
	if err != nil {
		return nil, err
	}
	for _, text := range []string{"PRAGMA busy_timeout = 5000", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL"} {
		if err := execOn(ctx, conn, text); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", text, err), conn.Close())
		}
	}
	return conn, nil
}

func execOn(ctx context.Context, conn driver.Conn, text string) error {
	if able, ok := conn.(driver.ExecerContext); ok {
		_, err := able.ExecContext(ctx, text, nil)
		return err
	}
	st, err := conn.Prepare(text)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.Exec(nil) //nolint:staticcheck // a driver without ExecerContext
	return err
}

// urlError says what is wrong with a URL without repeating it: it may hold a password.
func urlError(err error) error {
	wrong := new(url.Error)
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	return fmt.Errorf("%w: the store URL cannot be read: %w", lockrt.ErrOptions, err)
}

// withoutURL makes sure that an error of a driver does not repeat the password.
func withoutURL(err error, u *url.URL) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if password, ok := u.User.Password(); ok && password != "" {
		for _, secret := range []string{password, url.QueryEscape(password), url.PathEscape(password), u.User.String()} {
			text = strings.ReplaceAll(text, secret, "xxxxx")
		}
	}
	return errors.New(text)
}
