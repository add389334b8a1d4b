package sqltest

import (
	"database/sql"
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
