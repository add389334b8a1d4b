package sqlstore

import (
	"testing"

	"github.com/lockgen/lockgen/internal/testddl"
)

// The files for tools that run migrations have what DDL returns. LOCKGEN_UPDATE=1 writes them.
func TestDDL_files(t *testing.T) {
	testddl.File{
		Folder: "ddl", Name: "locks", Version: schemaVersion,
		DDL: func(dialect, prefix string) (string, error) {
			return DDL(Config{Dialect: Dialect(dialect), Table: prefix})
		},
	}.Check(t)
}
