package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// A file has other names than its path: one by symbolic links, one below a folder that is none any more, one as an
// attached database. Who comes by that name later comes to another file.
func TestSQLite_nameMoved(t *testing.T) {
	t.Parallel()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		at    string // the path of the file in a folder
		name  string // the one by which it is opened
		setUp func(t *testing.T, dir string)
		move  func(t *testing.T, dir string)
	}{
		"a link to the file": {
			"1.db", "current.db",
			func(t *testing.T, dir string) {
				must(t, os.Symlink(filepath.Join(dir, "1.db"), filepath.Join(dir, "current.db")))
			},
			func(t *testing.T, dir string) {
				openSQLite(t, "sqlite:"+filepath.Join(dir, "2.db"))
				must(t, os.Symlink(filepath.Join(dir, "2.db"), filepath.Join(dir, "next")))
				must(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "current.db")))
			},
		},
		"a link to the folder": {
			"1/locks.db", "current/locks.db",
			func(t *testing.T, dir string) { must(t, os.Symlink("1", filepath.Join(dir, "current"))) },
			func(t *testing.T, dir string) {
				must(t, os.Mkdir(filepath.Join(dir, "2"), 0o700))
				must(t, os.Symlink("2", filepath.Join(dir, "next")))
				must(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "current")))
			},
		},
		"the folder is a file": {
			"1/locks.db", "1/locks.db", func(*testing.T, string) {},
			func(t *testing.T, dir string) {
				must(t, os.Rename(filepath.Join(dir, "1"), filepath.Join(dir, "2")))
				must(t, os.WriteFile(filepath.Join(dir, "1"), nil, 0o600))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, test.at)), 0o700))
			openSQLite(t, "sqlite:"+filepath.Join(dir, test.at))
			test.setUp(t, dir)
			losesItsFile(t, opened(t, "sqlite:"+filepath.Join(dir, test.name)), func() { test.move(t, dir) }, test.name)
		})
	}
	t.Run("an attached file", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		file := filepath.Join(dir, "locks.db")
		db := openSQLite(t, "sqlite:"+filepath.Join(dir, "main.db"))
		db.SetMaxOpenConns(1) // one connection has it attached
		_, err := db.ExecContext(t.Context(), "ATTACH DATABASE '"+file+"' AS apart")
		must(t, err)
		cfg := sqlstore.Config{Table: "apart.lockgen"}
		must(t, sqlstore.CreateTables(t.Context(), db, cfg))
		e := &engine{name: "sqlite", db: db, cfg: cfg}
		losesItsFile(t, e.locker(t, "a"), func() {
			openSQLite(t, "sqlite:"+file+".new")
			must(t, os.Rename(file+".new", file))
		}, file)
	})
}

func opened(t *testing.T, url string) *lockrt.Locker {
	t.Helper()
	l, err := lockrt.Open(t.Context(), url, lockrt.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

// losesItsFile moves the file of a store while a lease is held.
func losesItsFile(t *testing.T, l *lockrt.Locker, move func(), named string) {
	t.Helper()
	lease, err := l.Acquire(t.Context(), "k", lockrt.Options{TTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	move()
	select {
	case <-lease.Done():
	case <-time.After(testsync.Patience):
		t.Fatal("the holder never learns of it")
	}
	_ = lease.Release(t.Context())
	if _, err := l.TryAcquire(t.Context(), "k", lockrt.Options{TTL: time.Second}); err == nil {
		t.Error("it locks in the old file")
	} else {
		wants(t, err, named, "open the pool and the store again")
	}
}

// A path goes up from where a symbolic link has led.
func TestSQLite_linkAndUp(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "data", "sub"), 0o700), os.MkdirAll(filepath.Join(dir, "work"), 0o700),
		os.Symlink(filepath.Join(dir, "data", "sub"), filepath.Join(dir, "work", "up"))); err != nil {
		t.Fatal(err)
	}
	near := &engine{name: "sqlite", db: openSQLite(t, "sqlite:"+filepath.Join(dir, "data", "locks.db"))}
	openSQLite(t, "sqlite:"+filepath.Join(dir, "work", "locks.db"))
	t.Chdir(filepath.Join(dir, "work"))
	l := opened(t, "sqlite:up/../locks.db")
	if _, err := l.TryAcquire(t.Context(), "k", lockrt.Options{TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := near.db.QueryRow("SELECT count(*) FROM lockgen_lock WHERE owner <> ''").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d locks are held in the file to which the path leads, %v", n, err)
	}
}

// All connections of a pool that was opened by URL are to the same file, wherever the process goes.
func TestSQLite_relativeURL(t *testing.T) {
	t.Chdir(t.TempDir())
	openSQLite(t, "sqlite:locks.db")
	l := opened(t, "sqlite:locks.db")
	t.Chdir(t.TempDir())
	var all sync.WaitGroup
	for i := range 16 { // who has one connection opens others
		all.Go(func() {
			for range 10 {
				lease, err := l.Acquire(t.Context(), fmt.Sprint(i), lockrt.Options{TTL: time.Minute, Wait: testsync.Patience})
				if err == nil {
					err = lease.Release(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if all, err := os.ReadDir("."); err != nil || len(all) > 0 {
		t.Errorf("files in the new folder: %v, %v", all, err)
	}
}

// Each connection to a database in memory may have one of its own, and no other process sees it.
func TestSQLite_inMemory(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{":memory:", "file::memory:?cache=shared", "file:x?mode=memory&cache=shared", "file:/shared?vfs=memdb", ""} {
		db, err := sql.Open("sqlite", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		err = sqlstore.CreateTables(t.Context(), db, sqlstore.Config{})
		if err == nil {
			t.Errorf("%q: tables are created for locks that nobody else sees", dsn)
			continue
		}
		if wants(t, err, "in memory"); strings.Contains(err.Error(), "CREATE TABLE") {
			t.Errorf("%q: somebody else is to create tables in memory: %v", dsn, err)
		}
		e := &engine{name: "sqlite", db: db}
		if _, err := e.locker(t, "a").TryAcquire(t.Context(), "k", lockrt.Options{TTL: time.Second}); err == nil {
			t.Errorf("%q: a lock that nobody else sees", dsn)
		} else {
			wants(t, err, "in memory")
		}
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
