package sqltest

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testddl"
	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// bare makes a database without tables.
func bare(t *testing.T, name string) *engine {
	t.Helper()
	var db *sql.DB
	switch name {
	case "postgres":
		db = openDB(t, "pgx", (&engine{url: testenv.SharedPostgres(t).URL()}).another(t))
	case "mysql":
		dsn := testenv.SharedMariaDB(t).DSN()
		own := ownDatabase(t, "mysql", dsn)
		db = openDB(t, "mysql", strings.TrimSuffix(dsn, "/lockgen")+"/"+own+"?multiStatements=true")
	default:
		db = openDB(t, "sqlite", "file:"+t.TempDir()+"/l.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	}
	return &engine{name: name, db: db}
}

// What a tool for migrations makes of the files are tables that locks work with. Once more changes nothing.
func TestDDL_filesRun(t *testing.T) {
	t.Parallel()
	files := testddl.File{Folder: "../ddl", Name: "locks", Version: 2}
	for way, cut := range map[string]testddl.Way{"as a whole": testddl.Whole, "cut at semicolons": testddl.Cut} {
		for _, dialect := range testddl.Dialects {
			t.Run(dialect+", "+way, func(t *testing.T) {
				t.Parallel()
				e := bare(t, dialect)
				files.Run(t, dialect, e.db, cut)
				files.Run(t, dialect, e.db, cut)
				l := e.locker(t, "a")
				if err := l.Do(t.Context(), "k", lockrt.Options{TTL: long}, func(context.Context, *lockrt.Lease) error {
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
