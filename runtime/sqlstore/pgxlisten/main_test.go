package pgxlisten_test

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/sqlstore/pgxlisten"
	"github.com/lockgen/lockgen/runtime/storetest"
)

const long = 10 * time.Minute

// beChaosProcess is set where there are processes to kill and stop.
var beChaosProcess = func() {}

func TestMain(m *testing.M) {
	storetest.BeProcess()
	beChaosProcess()
	goleak.VerifyTestMain(m)
}

// postgres starts a server with the tables.
func postgres(t testing.TB) (*testenv.PostgresServer, *sql.DB) {
	t.Helper()
	server := testenv.Postgres(t)
	db := openDB(t, server.URL())
	if err := sqlstore.CreateTables(t.Context(), db, sqlstore.Config{}); err != nil {
		t.Fatal(err)
	}
	return server, db
}

func openDB(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func listener(t testing.TB, url string) *pgxlisten.Listener {
	t.Helper()
	l, err := pgxlisten.New(url)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// locker opens a Locker in the namespace of the test.
func locker(t testing.TB, store lockrt.Store, log *slog.Logger) *lockrt.Locker {
	t.Helper()
	l, err := lockrt.New(store, lockrt.Config{Namespace: t.Name(), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestListener_conformance(t *testing.T) {
	server, db := postgres(t)
	storetest.Run(t, func(t *testing.T) lockrt.Store {
		return sqlstore.New(db, sqlstore.Config{Listener: listener(t, server.URL())})
	}, storetest.Processes(func(*testing.T) string { return server.URL() }))
}
