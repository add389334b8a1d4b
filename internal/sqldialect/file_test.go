package sqldialect

import (
	"database/sql"
	"runtime"
	"testing"
	"weak"

	"github.com/lockgen/lockgen/internal/testsync"
)

// What is known of a pool's file belongs to all stores on the pool, and goes with it.
func TestFileOf(t *testing.T) {
	key := func() weak.Pointer[sql.DB] {
		db := sql.OpenDB(nil)
		defer db.Close()
		if FileOf(db) != FileOf(db) || FileOf(nil) == FileOf(nil) {
			t.Error("a pool has one file, and no pool has none")
		}
		return weak.Make(db)
	}()
	testsync.Eventually(t, "a closed pool is forgotten", func() bool {
		runtime.GC()
		_, known := files.Load(key)
		return !known
	})
}
