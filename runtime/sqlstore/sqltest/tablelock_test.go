package sqltest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

// A backup keeps the table locked, as mysqldump does. By default a statement waits a year for it, and would take a lock then
// whose caller has gone. Ours wait for some seconds.
func TestMariaDB_tableLocked(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	far := *e
	if !testenv.OnMySQL() { // which needs nothing
		far.db = openDB(t, "mysql", mysqlDSN(e.url)+"?lock_wait_timeout=5")
	}
	s, _ := far.session(t, "a")
	take(t, s, "k", "before", long)
	if err := s.Release(t.Context(), lockrt.Release{Key: "k", ID: "before"}); err != nil {
		t.Fatal(err)
	}
	conn, err := e.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES lockgen_lock READ"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	late := make(chan error, 1)
	go func() {
		_, err := s.Acquire(ctx, lockrt.Request{Key: "k", ID: "late", TTL: long})
		late <- err
	}()
	testsync.Eventually(t, "a statement waits for the table", func() bool { return e.waits(t) > 0 })
	if err := <-late; err == nil {
		t.Fatal("granted in spite of the lock on the table")
	}
	testsync.Eventually(t, "no statement waits any more", func() bool { return e.waits(t) == 0 })
	if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	if owner, _ := e.row(t, "k"); owner != "" {
		t.Errorf("%q holds the lock, whose caller has gone", owner)
	}
}

// MySQL says of a table that is not there, to a role that may not use it, that a right is missing. GRANT alone would not help.
func TestMariaDB_noTableNoRight(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	user := "noright" + e.url[strings.LastIndex(e.url, "/")+1:]
	e.exec(t, "CREATE USER "+user+"@'127.0.0.1' IDENTIFIED BY 'p'")
	e.exec(t, "CREATE TABLE other (n int PRIMARY KEY)")
	e.exec(t, "GRANT SELECT ON other TO "+user+"@'127.0.0.1'")
	_, at, _ := strings.Cut(mysqlDSN(e.url), "@")
	far := *e
	far.db, far.cfg.Table = openDB(t, "mysql", user+":p@"+at), "nothere"
	wants(t, tryOnce(t, &far), "CREATE TABLE", "nothere_lock", "GRANT")
	tx, err := far.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	wants(t, fence.Guard(t.Context(), tx, "r", 5), "CREATE TABLE", "lockgen_fence", "GRANT")
}
