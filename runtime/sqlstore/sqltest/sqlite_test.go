package sqltest

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// openSQLite makes the file with the tables.
func openSQLite(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(url, "sqlite:")+
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(8)
	createTables(t, db, sqlstore.Config{})
	return db
}
