//go:build cgo

package sqltest

import (
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

// The other driver of SQLite, which is written in C.
func TestMattn_conformance(t *testing.T) {
	t.Parallel()
	db := openDB(t, "sqlite3", "file:"+filepath.Join(t.TempDir(), "locks.db")+"?_busy_timeout=5000&_journal_mode=WAL&_synchronous=NORMAL")
	db.SetMaxOpenConns(8)
	createTables(t, db, sqlstore.Config{})
	storetest.Run(t, func(*testing.T) lockrt.Store { return sqlstore.New(db, sqlstore.Config{}) })
}
