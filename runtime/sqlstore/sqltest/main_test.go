package sqltest

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/storetest"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) {
	storetest.BeProcess()
	beChaosProcess()
	beGuardingProcess()
	goleak.VerifyTestMain(testenv.Sharing{M: m})
}

// beChaosProcess and beGuardingProcess are set where there are processes to kill and stop.
var beChaosProcess, beGuardingProcess = func() {}, func() {}

func openDB(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxIdleConns(20) // a new connection for each statement leaves a busy machine no time for anything else
	return db
}

// databases counts those that tests have made, for their names.
var databases atomic.Int64

// ownDatabase makes a database of the test's own on a server that tests share.
func ownDatabase(t testing.TB, driver, dsn string) (name string) {
	t.Helper()
	name = fmt.Sprint("own", databases.Add(1))
	if _, err := openDB(t, driver, dsn).ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return name
}

// postgres makes a database with the tables, on the server that tests share.
func postgres(t testing.TB) *engine {
	t.Helper()
	server := testenv.SharedPostgres(t)
	return postgresAt(t, (&engine{url: server.URL()}).another(t))
}

// another makes a further database on the engine's server, which is PostgreSQL, and returns its URL.
func (e *engine) another(t testing.TB) string {
	t.Helper()
	return e.at(ownDatabase(t, "pgx", e.url))
}

// at is the engine's URL with another database.
func (e *engine) at(name string) string {
	u, err := url.Parse(e.url)
	if err != nil {
		panic(err)
	}
	u.Path = "/" + name
	return u.String()
}

func postgresAt(t testing.TB, url string) *engine {
	t.Helper()
	e := &engine{name: "postgres", db: openDB(t, "pgx", url), url: url, forUpdate: " FOR UPDATE"}
	createTables(t, e.db, sqlstore.Config{Dialect: sqlstore.Postgres})
	return e
}

// ownPostgres starts a server of the test's own.
func ownPostgres(t testing.TB) (*testenv.PostgresServer, *engine) {
	t.Helper()
	server := testenv.Postgres(t)
	return server, postgresAt(t, server.URL())
}

func createTables(t testing.TB, db *sql.DB, cfg sqlstore.Config) {
	t.Helper()
	if err := sqlstore.CreateTables(t.Context(), db, cfg); err != nil {
		t.Fatal(err)
	}
}

func TestPostgres_conformance(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	storetest.Run(t, func(*testing.T) lockrt.Store {
		return sqlstore.New(e.db, sqlstore.Config{Dialect: sqlstore.Postgres})
	}, storetest.Processes(func(*testing.T) string { return e.url }))
}

func TestMariaDB_conformance(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	storetest.Run(t, func(*testing.T) lockrt.Store {
		return sqlstore.New(e.db, sqlstore.Config{Dialect: sqlstore.MySQL})
	}, storetest.Processes(func(*testing.T) string { return e.url }))
}

// mariaDB makes a database with the tables, on the server that tests share.
func mariaDB(t testing.TB) *engine {
	t.Helper()
	server := testenv.SharedMariaDB(t)
	name := ownDatabase(t, "mysql", server.DSN())
	return mariaDBAt(t, strings.TrimSuffix(server.DSN(), "/lockgen")+"/"+name)
}

func mariaDBAt(t testing.TB, dsn string) *engine {
	t.Helper()
	url := "mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(dsn)
	e := &engine{name: "mariadb", db: openDB(t, "mysql", dsn), url: url, forUpdate: " FOR UPDATE"}
	createTables(t, e.db, sqlstore.Config{})
	return e
}

func TestSQLite_conformance(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	db := openSQLite(t, url)
	storetest.Run(t, func(*testing.T) lockrt.Store { return sqlstore.New(db, sqlstore.Config{}) },
		storetest.Processes(func(*testing.T) string { return url }))
}

// mysqlDSN is the address as the driver takes it.
func mysqlDSN(url string) string {
	user, rest, _ := strings.Cut(strings.TrimPrefix(url, "mysql://"), "@")
	addr, name, _ := strings.Cut(rest, "/")
	return user + "@tcp(" + addr + ")/" + name
}
