package sqltest

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	"github.com/lockgen/lockgen/jobs/storetest"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if err := beNode(name, os.Getenv(urlEnv)); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(testenv.Sharing{M: m})
}

func openDB(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func createTables(t testing.TB, db *sql.DB, cfg sqlstore.Config) {
	t.Helper()
	if err := sqlstore.CreateTables(t.Context(), db, cfg); err != nil {
		t.Fatal(err)
	}
}

// engine is one database with the tables.
type engine struct {
	name string
	db   *sql.DB
	url  string // as lockrt.Open takes it
	n    *atomic.Int64
}

// engines runs a test on every database, on all at once.
func engines(t *testing.T, test func(*testing.T, *engine)) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *engine{"postgres": postgres, "mariadb": mariaDB, "sqlite": sqlite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// postgres makes a database with the tables, on the server that tests share.
func postgres(t testing.TB) *engine {
	server := &engine{url: testenv.SharedPostgres(t).URL()}
	return postgresAt(t, server.another(t, "pgx", server.url))
}

func postgresAt(t testing.TB, url string) *engine {
	return newEngine(t, "postgres", openDB(t, "pgx", url), url)
}

// mariaDB makes a database with the tables, on the server that tests share.
func mariaDB(t testing.TB) *engine {
	dsn := testenv.SharedMariaDB(t).DSN()
	return mariaDBAt(t, (&engine{url: mariaDBURL(dsn)}).another(t, "mysql", dsn))
}

func mariaDBAt(t testing.TB, url string) *engine {
	return newEngine(t, "mariadb", openDB(t, "mysql", mysqlDSN(url)+"?interpolateParams=true"), url)
}

// mariaDBURL is a DSN as lockrt.Open takes it.
func mariaDBURL(dsn string) string {
	return "mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(dsn)
}

// mysqlDSN is a URL as the driver takes it.
func mysqlDSN(url string) string {
	user, rest, _ := strings.Cut(strings.TrimPrefix(url, "mysql://"), "@")
	addr, name, _ := strings.Cut(rest, "/")
	return user + "@tcp(" + addr + ")/" + name
}

// databases counts those that tests have made, for their names.
var databases atomic.Int64

// another makes a further database on the engine's server, and returns its URL.
func (e *engine) another(t testing.TB, driver, dsn string) string {
	t.Helper()
	name := fmt.Sprint("own", databases.Add(1))
	if _, err := openDB(t, driver, dsn).ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return e.at(name)
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

func sqlite(t testing.TB) *engine {
	file := filepath.Join(t.TempDir(), "jobs.db")
	db := openDB(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	return newEngine(t, "sqlite", db, "sqlite:"+file)
}

func newEngine(t testing.TB, name string, db *sql.DB, url string) *engine {
	t.Helper()
	db.SetMaxIdleConns(10)
	createTables(t, db, sqlstore.Config{})
	return &engine{name: name, db: db, url: url, n: new(atomic.Int64)}
}

// store returns one with a namespace of its own.
func (e *engine) store() *sqlstore.Store {
	return sqlstore.New(e.db, sqlstore.Config{Namespace: fmt.Sprint("n", e.n.Add(1))})
}

func TestStore_conformance(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		storetest.Run(t, func(*testing.T) jobs.Store { return e.store() })
	})
}
