package sqltest

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"

	_ "modernc.org/sqlite"
)

// openSQLite makes the file with the tables.
func openSQLite(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", sqliteDSN(url))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(8)
	createTables(t, db, sqlstore.Config{})
	return db
}

// sqliteDSN is a URL as the driver takes it.
func sqliteDSN(url string) string {
	return "file:" + strings.TrimPrefix(url, "sqlite:") +
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
}

// Without busy_timeout SQLite has nobody wait: those who look at the file at the same moment are told that it is locked.
func TestSQLite_noBusyTimeout(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	if err := openSQLite(t, url).Close(); err != nil {
		t.Fatal(err)
	}
	writer, err := sql.Open("sqlite", sqliteDSN(url))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	writer.SetMaxOpenConns(1)
	for _, query := range []string{"PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE"} {
		if _, err := writer.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	db := openDB(t, "sqlite", "file:"+strings.TrimPrefix(url, "sqlite:"))
	l := (&engine{name: "sqlite", db: db}).locker(t, "a")
	done := make(chan error, 1)
	go func() {
		_, err := l.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: testsync.Patience})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait for the file: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if _, err := writer.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Who has opened a file goes on with it when another one takes its place. A holder must learn that others lock there.
func TestSQLite_fileReplaced(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(t *testing.T, file string){
		"removed": func(t *testing.T, file string) {
			for _, f := range []string{file, file + "-wal", file + "-shm"} {
				if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			}
		},
		"restored": func(t *testing.T, file string) {
			openSQLite(t, "sqlite:"+file+".new")
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "locks.db")
			e := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+file)}
			a := e.locker(t, "a")
			lease, err := a.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			replace(t, file)
			select {
			case <-lease.Done():
			case <-time.After(testsync.Patience):
				t.Fatal("the holder never learns of it")
			}
			if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
				t.Errorf("the lease ended with %v", err)
			}
			_ = lease.Release(t.Context())
			if _, err := a.TryAcquire(t.Context(), "k", lockrt.Options{TTL: time.Second}); err == nil {
				t.Error("it locks in the old file")
			} else {
				wants(t, err, file, "open the pool and the store again")
			}
			again := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+file)}
			if _, err := again.locker(t, "b").TryAcquire(t.Context(), "k", lockrt.Options{TTL: time.Second}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A waiter who has lost the place in the queue takes another one, also while the lock is held and renewed.
func TestSQLite_placeLost(t *testing.T) {
	t.Parallel() // a session makes sure of its places every 20 s
	e := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+filepath.Join(t.TempDir(), "locks.db"))}
	a, _ := e.session(t, "a")
	b, _ := e.session(t, "b")
	take(t, a, "k", "1", long)
	next := e.waiting(t, b, "k", "2")
	e.exec(t, "UPDATE lockgen_lock SET queue = '' WHERE owner <> ''")
	testsync.Eventually(t, "it stands in the queue again", func() bool {
		_, queue := e.row(t, "k")
		return strings.Contains(queue, "2")
	})
	if err := a.Release(t.Context(), lockrt.Release{Key: "k", ID: "1"}); err != nil {
		t.Fatal(err)
	}
	if o := end(t, next); o.err != nil {
		t.Error(o.err)
	}
}

// Who waits notices the release by another process, which has a pool of its own, and does not wait for the next poll.
func TestSQLite_feelsTheRelease(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	a := &engine{name: "sqlite", db: openSQLite(t, file)}
	b := &engine{name: "sqlite", db: openSQLite(t, file), cfg: sqlstore.Config{PollMin: 10 * time.Minute, PollMax: 10 * time.Minute}}
	holder, _ := a.session(t, "a")
	waiter, _ := b.session(t, "b")
	for range 3 {
		take(t, holder, "k", "1", long)
		next := a.waiting(t, waiter, "k", "2")
		if err := holder.Release(t.Context(), lockrt.Release{Key: "k", ID: "1"}); err != nil {
			t.Fatal(err)
		}
		if o := end(t, next); o.err != nil {
			t.Fatal(o.err)
		}
		if err := waiter.Release(t.Context(), lockrt.Release{Key: "k", ID: "2"}); err != nil {
			t.Fatal(err)
		}
	}
}

// Somebody keeps the file's write lock. Who waits is told that, and not that the pool is too small, although its
// connections are in use.
func TestSQLite_writerHangs(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	writer := openSQLite(t, url)
	db := openDB(t, "sqlite", sqliteDSN(url))
	db.SetMaxOpenConns(1)
	l := (&engine{name: "sqlite", db: db}).locker(t, "a")
	lease, err := l.Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	writer.SetMaxOpenConns(1)
	if _, err := writer.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	_, err = l.Acquire(t.Context(), "other", lockrt.Options{TTL: long, Wait: time.Second})
	wants(t, err, "did not answer", "the write lock of the SQLite file", "one that is stopped, or hangs", "all 1 connections")
	if errors.Is(err, lockrt.ErrBusy) || strings.Contains(err.Error(), "raise SetMaxOpenConns") {
		t.Errorf("it points elsewhere: %v", err)
	}
	if _, err := writer.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}
