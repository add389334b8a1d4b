package sqltest

import (
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/runtime/fence"
)

// weak is the name and the password of a role that may do nothing but connect.
const weak = "weak"

func TestPostgres_rights(t *testing.T) {
	server := testenv.Postgres(t)
	e := newEngine(t, engine{db: open(t, "pgx", server.URL()), dialect: fence.Postgres})
	e.exec(t, "CREATE ROLE weak LOGIN PASSWORD 'weak'")
	e.exec(t, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	e.exec(t, "CREATE SCHEMA app")
	u, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	readOnly := u.String() + "&default_transaction_read_only=on"
	u.User = url.UserPassword(weak, weak)
	for _, table := range []string{unique("rights"), "app." + unique("rights")} {
		e.rights(t, table, u.String(), "pgx", strings.NewReplacer("the_role", weak))
		e.readOnly(t, table, open(t, "pgx", readOnly))
	}
}

func TestMariaDB_rights(t *testing.T) {
	server := testenv.MariaDB(t)
	cfg, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	cfg.MultiStatements = true
	e := newEngine(t, engine{db: open(t, "mysql", cfg.FormatDSN()), dialect: fence.MySQL})
	e.exec(t, "CREATE USER weak@'127.0.0.1' IDENTIFIED BY 'weak'")
	e.exec(t, "CREATE TABLE nothing (n bigint)")
	e.exec(t, "GRANT SELECT ON nothing TO weak@'127.0.0.1'") // to connect to the database at all
	cfg.User, cfg.Passwd = weak, weak
	table := unique("rights")
	e.rights(t, table, cfg.FormatDSN(), "mysql", strings.NewReplacer("'the_user'@'its_host'", "weak@'127.0.0.1'"))
	e.exec(t, "SET GLOBAL read_only = ON") // the administrator of the tests may write all the same; the role may not
	e.readOnly(t, table, open(t, "mysql", cfg.FormatDSN()))
}

func TestSQLite_rights(t *testing.T) {
	file := "file:" + filepath.Join(t.TempDir(), "test.db")
	e := newEngine(t, engine{db: open(t, "sqlite", file), dialect: fence.SQLite})
	table := unique("rights")
	if err := (fence.SQL{Dialect: e.dialect, Table: table}).CreateTable(t.Context(), e.db); err != nil {
		t.Fatal(err)
	}
	e.readOnly(t, table, open(t, "sqlite", file+"?mode=ro"))
}

// rights: a role without CREATE is told what somebody else has to run, and running that is enough.
func (e engine) rights(t *testing.T, table, dsn, driver string, grantee *strings.Replacer) {
	t.Helper()
	db := open(t, driver, dsn)
	defer db.Close()
	role := e
	role.db = db
	s := fence.SQL{Dialect: e.dialect, Table: table}

	create := func(want string) string {
		t.Helper()
		err := s.CreateTable(t.Context(), db)
		if err == nil {
			t.Fatalf("%s: CreateTable by a role without rights succeeded", want)
		}
		_, statements, found := strings.Cut(err.Error(), "let somebody who may run\n")
		if !found || !strings.Contains(statements, "CREATE TABLE") || !strings.Contains(statements, "GRANT SELECT") {
			t.Fatalf("%s: the error names no statements: %v", want, err)
		}
		return statements
	}
	ddl, grants, _ := strings.Cut(create("no table"), ";\n")
	e.exec(t, ddl)
	if again := create("no rights to the table"); !strings.HasSuffix(again, grants) {
		t.Errorf("other grants: %s", again)
	}
	err := role.guarded(t.Context(), s, "r", 1)
	if err == nil || !strings.Contains(err.Error(), grants) {
		t.Errorf("Guard without rights: %v", err)
	}
	e.exec(t, grantee.Replace(grants))
	if err := s.CreateTable(t.Context(), db); err != nil {
		t.Errorf("CreateTable by a role without CREATE, with the table there: %v", err)
	}
	for _, s := range []fence.SQL{s, {Table: table}} {
		if err := role.guarded(t.Context(), s, "r", 9); err != nil {
			t.Errorf("%+v, with the grants of the error: %v", s, err)
		}
	}
	if _, err := s.Prune(t.Context(), db, time.Hour); err != nil {
		t.Errorf("Prune with the grants of the error: %v", err)
	}
	if err := s.Reset(t.Context(), db, "r"); err != nil {
		t.Errorf("Reset with the grants of the error: %v", err)
	}
}

// readOnly: a server that takes no writes has nothing against a table that is there, and is no riddle where it is not.
func (e engine) readOnly(t *testing.T, table string, db *sql.DB) {
	t.Helper()
	defer db.Close()
	if err := (fence.SQL{Dialect: e.dialect, Table: table}).CreateTable(t.Context(), db); err != nil {
		t.Errorf("the table is there: %v", err)
	}
	err := fence.SQL{Dialect: e.dialect, Table: unique("absent")}.CreateTable(t.Context(), db)
	if err == nil || !strings.Contains(err.Error(), "CREATE TABLE") {
		t.Errorf("the table is not there: %v", err)
	}
}

// stateOfZero: a State whose Dialect is not known creates its table.
func (e engine) stateOfZero(t *testing.T) {
	state := fence.SQL{Table: unique("state")}.State(e.db)
	for range 2 {
		if err := state.Check(t.Context(), "r", 9); err != nil {
			t.Fatal(err)
		}
	}
	if err := state.Check(t.Context(), "r", 8); !errors.Is(err, fence.ErrStale) {
		t.Errorf("stale: %v", err)
	}
	known := fence.SQL{Dialect: e.dialect, Table: unique("state")}.State(e.db)
	if err := known.Check(t.Context(), "r", 9); err == nil || !strings.Contains(err.Error(), "CreateTable") {
		t.Errorf("with a Dialect, without a table: %v", err)
	}
}

func (e engine) reset(t *testing.T) {
	s := fence.SQL{Table: unique("reset")}
	if err := s.CreateTable(t.Context(), e.db); err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"a", "b"} {
		if err := s.State(e.db).Check(t.Context(), resource, 9); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Reset(t.Context(), e.db, "a"), s.Reset(t.Context(), e.db, "none")); err != nil {
		t.Fatal(err)
	}
	if err := s.State(e.db).Check(t.Context(), "a", 8); err != nil {
		t.Errorf("after Reset: %v", err)
	}
	if err := s.State(e.db).Check(t.Context(), "b", 8); !errors.Is(err, fence.ErrStale) {
		t.Errorf("another resource: %v", err)
	}
	if err := s.Reset(t.Context(), e.db, ""); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("no resource: %v", err)
	}
}
