package sqltest

import (
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/storetest"
)

// A pooler in transaction mode gives every statement another connection.
func TestPgBouncer_conformance(t *testing.T) {
	t.Parallel()
	server, _ := ownPostgres(t)
	bouncer := testenv.PgBouncer(t, server)
	url := bouncer.URL() + "&default_query_exec_mode=exec"
	db := openDB(t, "pgx", url)
	storetest.Run(t, func(*testing.T) lockrt.Store {
		return sqlstore.New(db, sqlstore.Config{})
	}, storetest.Processes(func(*testing.T) string { return url }))
}

// With prepared statements that a pooler loses the error says what to do.
func TestPgBouncer_preparedStatements(t *testing.T) {
	t.Parallel()
	server, _ := ownPostgres(t)
	bouncer := testenv.PgBouncer(t, server)
	l, err := lockrt.Open(t.Context(), bouncer.URL(), lockrt.Config{})
	for i := 0; err == nil && i < 200; i++ { // until two connections meet on one of the server
		var lease *lockrt.Lease
		if lease, err = l.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long}); err == nil {
			err = lease.Release(t.Context())
		}
	}
	if l != nil {
		_ = l.Close(t.Context())
	}
	if err == nil {
		t.Skip("this version of pgbouncer keeps prepared statements")
	}
	if !strings.Contains(err.Error(), "default_query_exec_mode=exec") {
		t.Errorf("the error is %v", err)
	}
}
