package sqltest

import (
	"errors"
	"testing"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Connections of MariaDB in which some statements fail, or mean something else, are refused at the first use, with the
// reason.
func TestStore_modes(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	for dsn, c := range map[string]struct {
		reason  string
		creates bool // it is no obstacle to CreateTables
	}{
		"&sql_safe_updates=1":                    {"sql_safe_updates is on", true},
		"&sql_select_limit=20":                   {"sql_select_limit is 20", true},
		"&sql_mode=%27EMPTY_STRING_IS_NULL%27":   {"sql_mode has EMPTY_STRING_IS_NULL", false},
		"&sql_mode=%27ANSI_QUOTES,ORACLE%27":     {"sql_mode has ORACLE", false},
		"&sql_mode=%27STRICT_ALL_TABLES,ANSI%27": {"", true},
	} {
		if !c.creates && testenv.OnMySQL() {
			continue // it has no such mode
		}
		db := openDB(t, "mysql", mysqlDSN(e.url)+"?interpolateParams=true"+dsn)
		refused := func(err error, fine bool) {
			t.Helper()
			if fine {
				if err != nil {
					t.Errorf("%s: %v", dsn, err)
				}
				return
			}
			wants(t, err, c.reason)
			if !errors.Is(err, lockrt.ErrOptions) {
				t.Errorf("%s: the error is not ErrOptions: %v", dsn, err)
			}
		}
		refused(use(t, sqlstore.New(db, sqlstore.Config{})), c.reason == "")
		refused(sqlstore.CreateTables(t.Context(), db, sqlstore.Config{}), c.creates)
		refused(sqlstore.CreateTables(t.Context(), db, sqlstore.Config{Table: "other"}), c.creates)
	}
}
