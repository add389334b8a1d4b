package fence

import (
	"testing"

	"github.com/lockgen/lockgen/internal/testddl"
)

// The files for tools that run migrations have what DDL returns. LOCKGEN_UPDATE=1 writes them.
func TestSQL_DDL_files(t *testing.T) {
	testddl.File{
		Folder: "ddl", Name: "fences", Version: 1,
		DDL: func(dialect, prefix string) (string, error) {
			text, err := SQL{Dialect: Dialect(dialect), Table: prefix + "_fence"}.DDL()
			return text + ";\n", err
		},
	}.Check(t)
}
