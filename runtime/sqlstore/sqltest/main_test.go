package sqltest

import (
	"database/sql"
	"path/filepath"
	"strings"
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
	goleak.VerifyTestMain(m)
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

// postgres starts a server with the tables.
func postgres(t testing.TB) (*testenv.PostgresServer, *sql.DB) {
	t.Helper()
	server := testenv.Postgres(t)
	db := openDB(t, "pgx", server.URL())
	createTables(t, db, sqlstore.Config{Dialect: sqlstore.Postgres})
	return server, db
}

func createTables(t testing.TB, db *sql.DB, cfg sqlstore.Config) {
	t.Helper()
	if err := sqlstore.CreateTables(t.Context(), db, cfg); err != nil {
		t.Fatal(err)
	}
}

func TestPostgres_conformance(t *testing.T) {
	server, db := postgres(t)
	storetest.Run(t, func(*testing.T) lockrt.Store {
		return sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.Postgres})
	}, storetest.Processes(func(*testing.T) string { return server.URL() }))
}

func TestMariaDB_conformance(t *testing.T) {
	server, db := mariaDB(t)
	storetest.Run(t, func(*testing.T) lockrt.Store {
		return sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.MySQL})
	}, storetest.Processes(func(*testing.T) string { return mysqlURL(server) }))
}

// mariaDB starts a server with the tables.
func mariaDB(t testing.TB) (*testenv.MariaDBServer, *sql.DB) {
	t.Helper()
	server := testenv.MariaDB(t)
	db := openDB(t, "mysql", server.DSN())
	db.SetMaxIdleConns(20)
	createTables(t, db, sqlstore.Config{})
	return server, db
}

// mysqlURL is the server's address as lockrt.Open takes it.
func mysqlURL(server *testenv.MariaDBServer) string {
	return "mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(server.DSN())
}

func TestSQLite_conformance(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	db := openSQLite(t, url)
	storetest.Run(t, func(*testing.T) lockrt.Store { return sqlstore.New(db, sqlstore.Config{}) },
		storetest.Processes(func(*testing.T) string { return url }))
}

// mysqlDSN is the inverse of mysqlURL.
func mysqlDSN(url string) string {
	user, rest, _ := strings.Cut(strings.TrimPrefix(url, "mysql://"), "@")
	addr, name, _ := strings.Cut(rest, "/")
	return user + "@tcp(" + addr + ")/" + name
}
