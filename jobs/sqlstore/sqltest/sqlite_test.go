package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// openFile opens a SQLite file anew, as another process does.
func openFile(t *testing.T, file string) *sql.DB {
	t.Helper()
	return openDB(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
}

// ticking runs a scheduler with a job of each second until the test ends.
func ticking(t *testing.T, store jobs.Store, run func()) *jobs.Scheduler {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(memstore.New(), lockrt.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	s, err := jobs.New(locks, jobs.Config{Store: store, Logger: quiet, Heartbeat: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Add(jobs.Job{Name: "tick", Spec: "@every 1s", Run: func(context.Context) error { run(); return nil }}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = locks.Close(context.Background())
	})
	return s
}

// Who has opened a file goes on with it when another one takes its place. Nobody else sees what it writes there, so that
// it must not run ticks, nor take jobs that no node would run.
func TestSQLite_fileReplaced(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(t *testing.T, db *sql.DB, file string){
		"removed": func(t *testing.T, _ *sql.DB, file string) {
			for _, f := range []string{file, file + "-wal", file + "-shm"} {
				if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		},
		"restored": func(t *testing.T, db *sql.DB, file string) {
			if _, err := db.ExecContext(t.Context(), "VACUUM INTO '"+file+".new'"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := sqlite(t)
			file := strings.TrimPrefix(e.url, "sqlite:")
			store, ran := e.store(), make(chan struct{}, 100)
			s := ticking(t, store, func() { ran <- struct{}{} })
			<-ran
			replace(t, e.db, file)
			for name, store := range map[string]*sqlstore.Store{"the store": store, "one that is made later": e.store()} {
				refusesAll(t, name, e, store)
			}
			if err := sqlstore.CreateTables(t.Context(), e.db, sqlstore.Config{}); !errors.Is(err, lockrt.ErrOptions) {
				t.Errorf("tables are made in the old file: %v", err)
			}
			testsync.Eventually(t, "Err says it", func() bool {
				err := s.Err()
				return err != nil && strings.Contains(err.Error(), "replaced") && strings.Contains(err.Error(), file)
			})
			again := openFile(t, file)
			createTables(t, again, sqlstore.Config{})
			if err := use(t, sqlstore.New(again, sqlstore.Config{})); err != nil {
				t.Errorf("with a pool that was opened since: %v", err)
			}
		})
	}
}

// refusesAll calls a store whose file was replaced.
func refusesAll(t *testing.T, name string, e *engine, store *sqlstore.Store) {
	t.Helper()
	ctx := t.Context()
	tx := begin(t, e)
	defer tx.Rollback()
	run := jobs.Run{ID: "j@1", Job: "j"}
	_, beat := store.Heartbeat(ctx, jobs.Heartbeat{Session: "s", Lease: time.Minute})
	_, look := store.Look(ctx, []string{"j"})
	_, list := store.Waiting(ctx, 10)
	claim := jobs.Claim{Job: "j", Due: time.Unix(1, 0), Lease: time.Minute, InFlight: &jobs.InFlight{Owner: "s", Run: run}}
	for call, err := range map[string]error{
		"Heartbeat": beat, "Look": look, "Waiting": list, "Put": store.Put(ctx, letter("a")), "PutTx": store.PutTx(ctx, tx, letter("b")),
		"Claim": store.Claim(ctx, []jobs.Claim{claim})[0].Err, "Start": store.Start(ctx, []jobs.Start{{Run: run, Owner: "s"}})[0],
	} {
		if !errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), "open the pool and the store again") {
			t.Errorf("%s, %s: %v, want that the file was replaced", name, call, err)
		}
	}
}

// SQLite commits attached files one after another: of a transaction that a crash ends there, one write would be left.
func TestSQLite_attached(t *testing.T) {
	t.Parallel()
	e := sqlite(t)
	file := strings.TrimPrefix(e.url, "sqlite:")
	e.exec(t, "CREATE TABLE effect (id varchar(100))")
	app := &engine{name: "sqlite", db: openFile(t, file+".app")}
	app.db.SetMaxOpenConns(1)
	app.exec(t, "ATTACH '"+file+"' AS jobs")
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), "attached") {
			t.Errorf("%s: %v, want that the tables are only attached", what, err)
		}
	}
	store := e.store()
	tx := begin(t, app)
	refused("PutTx", store.PutTx(t.Context(), tx, letter("b")))
	_ = tx.Rollback()
	e.only(t, store, 1, func(ctx context.Context, _ string) error {
		tx := begin(t, app)
		refused("CompleteTx", store.CompleteTx(ctx, tx))
		_ = tx.Rollback()
		tx, err := e.complete(ctx, store, 1) // in its own file
		return errors.Join(err, tx.Commit())
	})
	// A store may have its tables in an attached file, where all that it writes is in that one.
	cfg := sqlstore.Config{Table: "jobs.lockgen"}
	if err := sqlstore.New(app.db, cfg).Put(t.Context(), letter("c")); err != nil {
		t.Error(err)
	}
	store = sqlstore.New(app.db, cfg)
	if _, err := store.Nodes(t.Context()); err != nil { // the pool has one connection
		t.Fatal(err)
	}
	tx = begin(t, app)
	refused("PutTx with a schema", store.PutTx(t.Context(), tx, letter("b")))
	_ = tx.Rollback()
	store = sqlstore.New(e.db, sqlstore.Config{Table: "Main.lockgen"})
	tx = begin(t, e)
	if err := errors.Join(store.PutTx(t.Context(), tx, letter("d")), tx.Commit()); err != nil {
		t.Errorf("with main in the name: %v", err)
	}
	if got := waiting(t, store); got != "c d" {
		t.Errorf("%q wait", got)
	}
}

// Somebody keeps the file's write lock: callers and Scheduler.Err say so.
func TestSQLite_writerHangs(t *testing.T) {
	t.Parallel()
	e := sqlite(t)
	store, ran := e.store(), make(chan struct{}, 100)
	s := ticking(t, store, func() { ran <- struct{}{} })
	<-ran
	writer := openFile(t, strings.TrimPrefix(e.url, "sqlite:"))
	writer.SetMaxOpenConns(1)
	if _, err := writer.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	const why = "another connection or process may hold the write lock"
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := store.Put(ctx, letter("a")); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), why) {
		t.Errorf("Put: %v", err)
	}
	testsync.Eventually(t, "Err says it", func() bool {
		err := s.Err()
		return err != nil && strings.Contains(err.Error(), why)
	})
	if _, err := writer.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	testsync.Eventually(t, "the node works again", func() bool { return s.Err() == nil })
}
