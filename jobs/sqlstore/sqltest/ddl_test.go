package sqltest

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testddl"
	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// bare opens a database without tables.
func bare(t *testing.T, dialect string) *sql.DB {
	t.Helper()
	switch dialect {
	case "postgres":
		server := &engine{url: testenv.SharedPostgres(t).URL()}
		return openDB(t, "pgx", server.another(t, "pgx", server.url))
	case "mysql":
		dsn := testenv.SharedMariaDB(t).DSN()
		server := &engine{url: "mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(dsn)}
		return openDB(t, "mysql", mysqlDSN(server.another(t, "mysql", dsn))+"?multiStatements=true")
	}
	return openDB(t, "sqlite", "file:"+t.TempDir()+"/j.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
}

// What a tool for migrations makes of the files are tables that jobs work with. Once more changes nothing.
func TestDDL_filesRun(t *testing.T) {
	t.Parallel()
	files := testddl.File{Folder: "../ddl", Name: "jobs", Version: 1}
	for way, cut := range map[string]testddl.Way{"as a whole": testddl.Whole, "cut at semicolons": testddl.Cut} {
		for _, dialect := range testddl.Dialects {
			t.Run(dialect+", "+way, func(t *testing.T) {
				t.Parallel()
				db := bare(t, dialect)
				files.Run(t, dialect, db, cut)
				files.Run(t, dialect, db, cut)
				if err := use(t, sqlstore.New(db, sqlstore.Config{})); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
