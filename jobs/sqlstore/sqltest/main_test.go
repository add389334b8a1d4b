package sqltest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
		if err := beChild(name, os.Getenv(urlEnv)); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// beChild is what a process of this test binary does that is a node.
func beChild(name, url string) error {
	many, every, ok := strings.Cut(os.Getenv(manyEnv), " ")
	if !ok {
		return beNode(name, url)
	}
	n, err := strconv.Atoi(many)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(every)
	if err != nil {
		return err
	}
	return beMany(name, url, n, d)
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

	server any // that was started
}

// engines runs a test on every database.
func engines(t *testing.T, test func(*testing.T, *engine)) {
	t.Run("postgres", func(t *testing.T) { test(t, postgres(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, mariaDB(t)) })
	t.Run("sqlite", func(t *testing.T) { test(t, sqlite(t)) })
}

func postgres(t testing.TB) *engine {
	server := testenv.Postgres(t)
	e := newEngine(t, "postgres", openDB(t, "pgx", server.URL()), server.URL())
	e.server = server
	return e
}

func mariaDB(t testing.TB) *engine {
	server := testenv.MariaDB(t)
	db := openDB(t, "mysql", server.DSN()+"?interpolateParams=true")
	return newEngine(t, "mariadb", db, "mysql://"+strings.NewReplacer("tcp(", "", ")", "").Replace(server.DSN()))
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
