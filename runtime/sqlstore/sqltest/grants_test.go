package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// role makes a role that may connect and insert into data, and nothing else. It returns its name in a GRANT and a pool.
func (e *engine) role(t *testing.T) (name string, db *sql.DB) {
	t.Helper()
	name = fmt.Sprint("writer", databases.Add(1))
	if e.name == "mariadb" {
		at := name + "@'127.0.0.1'"
		e.exec(t, "CREATE USER "+at+" IDENTIFIED BY 'p'")
		e.exec(t, "GRANT INSERT ON data TO "+at)
		_, after, _ := strings.Cut(mysqlDSN(e.url), "@")
		return at, openDB(t, "mysql", name+":p@"+after)
	}
	e.exec(t, "CREATE ROLE "+name+" LOGIN PASSWORD 'p'")
	e.exec(t, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
	e.exec(t, "GRANT USAGE ON SCHEMA public TO "+name)
	e.exec(t, "GRANT INSERT ON data TO "+name)
	u, err := url.Parse(e.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, "p")
	return name, openDB(t, "pgx", u.String())
}

// needs checks that work passes with these rights on a table, and that a role that lacks one is told.
func (e *engine) needs(t *testing.T, role, table string, rights []string, work func() error) {
	t.Helper()
	for _, right := range rights {
		e.exec(t, "GRANT "+right+" ON "+table+" TO "+role)
	}
	if err := work(); err != nil {
		t.Errorf("with %s on %s: %v", rights, table, err)
	}
	for _, right := range rights {
		e.exec(t, "REVOKE "+right+" ON "+table+" FROM "+role)
		if err := work(); err == nil || !strings.Contains(err.Error(), "GRANT") {
			t.Errorf("without %s on %s: %v, want an error with the grants", right, table, err)
		}
		e.exec(t, "GRANT "+right+" ON "+table+" TO "+role)
	}
	if err := work(); err != nil {
		t.Errorf("with %s on %s again: %v", rights, table, err)
	}
}

// The role of a transaction needs what docs/sql.md says, and no right to the locks that is not there.
func TestDoTx_rights(t *testing.T) {
	t.Parallel()
	guard, mark := []string{"SELECT", "UPDATE"}, []string{"SELECT", "INSERT", "UPDATE"}
	doTx := func(t *testing.T, e *engine, db *sql.DB, o lockrt.Options) func() error {
		locks := e.locker(t, "a")
		return func() error { return sqlstore.DoTx(t.Context(), locks, "k", o, db, insert) }
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		e := postgres(t)
		e.exec(t, "CREATE TABLE data (n int)")
		t.Run("DoTx", func(t *testing.T) {
			role, db := e.role(t)
			e.needs(t, role, "lockgen_lock", guard, doTx(t, e, db, lockrt.Options{TTL: long}))
		})
		t.Run("Guard", func(t *testing.T) {
			role, db := e.role(t)
			locks := e.locker(t, "a")
			e.needs(t, role, "lockgen_lock", guard, func() error {
				return locks.Do(t.Context(), "k", lockrt.Options{TTL: long}, func(ctx context.Context, lease *lockrt.Lease) error {
					tx, err := db.BeginTx(ctx, nil)
					if err != nil {
						return err
					}
					if err := errors.Join(sqlstore.Guard(ctx, tx, lease), insert(ctx, tx, lease)); err != nil {
						return errors.Join(err, tx.Rollback())
					}
					return tx.Commit()
				})
			})
		})
		t.Run("DoTx with a fence", func(t *testing.T) {
			role, db := e.role(t)
			if err := fence.CreateTable(t.Context(), e.db, fence.Postgres); err != nil {
				t.Fatal(err)
			}
			permit := doTx(t, e, db, lockrt.Options{TTL: long, Permits: 2})
			e.needs(t, role, "lockgen_fence", mark, permit)
		})
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		e := mariaDB(t)
		e.exec(t, "CREATE TABLE data (n int)")
		role, db := e.role(t)
		if err := fence.CreateTable(t.Context(), e.db, fence.MySQL); err != nil {
			t.Fatal(err)
		}
		e.needs(t, role, "lockgen_fence", mark, doTx(t, e, db, lockrt.Options{TTL: long}))
	})
}
