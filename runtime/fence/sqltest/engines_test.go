package sqltest

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/runtime/fence"
)

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestPostgres(t *testing.T) {
	server := testenv.Postgres(t)
	e := newEngine(t, engine{
		db:        open(t, "pgx", server.URL()),
		dialect:   fence.Postgres,
		isolation: []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
		waiting:   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
		again: func(err error) bool {
			var pg *pgconn.PgError
			return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
		},
	})
	t.Run("contract", e.contract)
	t.Run("order", e.order)
}

func TestMariaDB(t *testing.T) {
	server := testenv.MariaDB(t)
	for name, options := range map[string]string{
		"default": "",
		// The driver writes the values into the statement by itself.
		"interpolated": "?interpolateParams=true",
		// Default since 11.6: a locking read fails where the row is newer than the snapshot.
		"snapshot isolation": "?innodb_snapshot_isolation=ON",
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, engine{
				db:        open(t, "mysql", server.DSN()+testenv.MariaDBParams(options)),
				dialect:   fence.MySQL,
				isolation: []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable},
				waiting:   "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
				again: func(err error) bool {
					var my *mysql.MySQLError
					return errors.As(err, &my) && (my.Number == 1213 || my.Number == 1020)
				},
			})
			t.Run("contract", e.contract)
			t.Run("order", e.order)
		})
	}
}

func TestSQLite(t *testing.T) {
	// Two transactions that are both begun immediate cannot be open at once.
	immediate := func(meeting string, _ bool) bool {
		return meeting != "newer rolls back" && meeting != "everybody all along"
	}
	for name, c := range map[string]struct {
		options    string
		impossible func(string, bool) bool
	}{
		"wal deferred":  {"&_pragma=journal_mode(WAL)", nil},
		"wal immediate": {"&_pragma=journal_mode(WAL)&_txlock=immediate", immediate},
		// A reader whose transaction stays open keeps the writer from its commit.
		"rollback deferred": {"&_pragma=journal_mode(DELETE)", func(meeting string, snapshot bool) bool {
			return meeting == "newer is done" && snapshot
		}},
		"rollback immediate": {"&_pragma=journal_mode(DELETE)&_txlock=immediate", immediate},
	} {
		t.Run(name, func(t *testing.T) {
			file := "file:" + filepath.Join(t.TempDir(), "test.db")
			e := newEngine(t, engine{
				db:         open(t, "sqlite", file+"?_pragma=busy_timeout(20000)&_pragma=synchronous(OFF)"+c.options),
				dialect:    fence.SQLite,
				impossible: c.impossible,
				again: func(err error) bool {
					var lite *sqlite.Error
					return errors.As(err, &lite) && lite.Code()&0xff == 5 // SQLITE_BUSY and its kinds
				},
			})
			t.Run("contract", e.contract)
			t.Run("order", e.order)
		})
	}
}
