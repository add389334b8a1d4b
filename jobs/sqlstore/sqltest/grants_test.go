package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/jobs"
)

// role makes a role that may connect and insert into effect, and nothing else. It returns its name in a GRANT, and a
// pool.
func (e *engine) role(t *testing.T) (name string, db *sql.DB) {
	t.Helper()
	name = fmt.Sprint("writer", databases.Add(1))
	if e.name == "mariadb" {
		at := name + "@'127.0.0.1'"
		e.exec(t, "CREATE USER "+at+" IDENTIFIED BY 'p'")
		e.exec(t, "GRANT INSERT ON effect TO "+at)
		_, after, _ := strings.Cut(mysqlDSN(e.url), "@")
		return at, openDB(t, "mysql", name+":p@"+after)
	}
	e.exec(t, "CREATE ROLE "+name+" LOGIN PASSWORD 'p'")
	e.exec(t, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
	e.exec(t, "GRANT USAGE ON SCHEMA public TO "+name)
	e.exec(t, "GRANT INSERT ON effect TO "+name)
	u, err := url.Parse(e.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, "p")
	return name, openDB(t, "pgx", u.String())
}

// needs checks that work passes with these rights, such as "SELECT ON t", and that a role that lacks one is told.
func (e *engine) needs(t *testing.T, role string, rights []string, work func() error) {
	t.Helper()
	for _, right := range rights {
		e.exec(t, "GRANT "+right+" TO "+role)
	}
	if err := work(); err != nil {
		t.Errorf("with %s: %v", rights, err)
	}
	for _, right := range rights {
		e.exec(t, "REVOKE "+right+" FROM "+role)
		if err := work(); err == nil || !strings.Contains(err.Error(), "GRANT") {
			t.Errorf("without %s: %v, want an error with the grants", right, err)
		}
		e.exec(t, "GRANT "+right+" TO "+role)
	}
}

// roles runs a test on the databases that know rights.
func roles(t *testing.T, test func(t *testing.T, e *engine)) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *engine{"postgres": postgres, "mariadb": mariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			e.exec(t, "CREATE TABLE effect (id varchar(100))")
			test(t, e)
		})
	}
}

// The role of a transaction needs what docs/sql.md says, and no right to the jobs that is not there.
func TestStore_PutTx_rights(t *testing.T) {
	roles(t, func(t *testing.T, e *engine) {
		store, n := e.store(), 0
		role, db := e.role(t)
		rights := []string{"SELECT ON lockgen_oneoff", "INSERT ON lockgen_oneoff", "UPDATE ON lockgen_oneoff"}
		e.needs(t, role, rights, func() error {
			n++
			return writeIn(t.Context(), db, func(tx *sql.Tx) error { // a new one, and one that is known
				fresh, known := letter(fmt.Sprint("new", n)), letter("a")
				return errors.Join(store.PutTx(t.Context(), tx, fresh), store.PutTx(t.Context(), tx, known))
			})
		})
		if got := waiting(t, store); got != "a new1" && got != "new1 a" {
			t.Errorf("%q wait, want what the role put with all rights", got)
		}
	})
}

func TestStore_CompleteTx_rights(t *testing.T) {
	roles(t, func(t *testing.T, e *engine) {
		store := e.store()
		role, db := e.role(t)
		rights := []string{"SELECT ON lockgen_run", "UPDATE ON lockgen_run", "SELECT ON lockgen_oneoff"}
		runs := e.only(t, store, 1, func(ctx context.Context, _ string) error {
			no := errors.New("not yet")
			e.needs(t, role, rights, func() error {
				err := writeIn(ctx, db, func(tx *sql.Tx) error { return errors.Join(store.CompleteTx(ctx, tx), no) })
				if err.Error() == no.Error() {
					return nil
				}
				return err
			})
			return writeIn(ctx, db, func(tx *sql.Tx) error { return store.CompleteTx(ctx, tx) })
		})
		if runs[0].Outcome != jobs.OutcomeOK || e.effects(t) != 1 {
			t.Errorf("%+v, and %d times committed", runs, e.effects(t))
		}
	})
}

// writeIn is a transaction of the application.
func writeIn(ctx context.Context, db *sql.DB, more func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO effect VALUES ('a')"); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := more(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
