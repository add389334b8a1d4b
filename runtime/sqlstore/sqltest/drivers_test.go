package sqltest

import (
	"testing"

	_ "github.com/lib/pq"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

// The other ways to the same servers.
func TestDrivers_conformance(t *testing.T) {
	t.Parallel()
	server, _ := ownPostgres(t)
	maria := mysqlDSN(mariaDB(t).url)
	bouncer := testenv.PgBouncer(t, server)
	for name, c := range map[string]struct{ driver, dsn string }{
		"lib/pq":                  {"postgres", server.URL()},
		"lib/pq behind pgbouncer": {"postgres", bouncer.URL() + "&binary_parameters=yes"},
		"pgx, simple protocol":    {"pgx", server.URL() + "&default_query_exec_mode=simple_protocol"},
		"mysql, found rows, read committed": {
			"mysql", maria + testenv.MariaDBParams("?clientFoundRows=true&tx_isolation=%27READ-COMMITTED%27"),
		},
		"mysql, interpolated, no backslash escapes, snapshot isolation": {
			"mysql", maria + testenv.MariaDBParams(
				"?interpolateParams=true&sql_mode=%27NO_BACKSLASH_ESCAPES%27&innodb_snapshot_isolation=ON"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openDB(t, c.driver, c.dsn)
			db.SetMaxOpenConns(10)
			storetest.Run(t, func(*testing.T) lockrt.Store { return sqlstore.New(db, sqlstore.Config{}) }, storetest.Brief())
		})
	}
}
