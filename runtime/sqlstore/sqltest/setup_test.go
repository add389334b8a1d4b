package sqltest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

func TestStore_tables(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		for name, test := range map[string]func(*testing.T, *engine){
			"missing":                     missingTables,
			"of another version":          otherVersion,
			"with a column too few":       missingColumn,
			"created at the same time":    createdAtOnce,
			"under another name":          otherName,
			"with an unusable name":       unusableName,
			"deleted while they are used": deletedTables,
		} {
			t.Run(name, func(t *testing.T) { test(t, e) })
		}
	})
}

func wants(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	if errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("the error is ErrBusy: %v", err)
	}
}

func tryOnce(t *testing.T, e *engine) error {
	t.Helper()
	lease, err := e.locker(t, "a").TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err == nil {
		err = lease.Release(t.Context())
	}
	return err
}

func missingTables(t *testing.T, e *engine) {
	other := *e
	other.cfg.Table = "nothere"
	wants(t, tryOnce(t, &other), "CREATE TABLE", "nothere_lock", "sqlstore.CreateTables")
	createTables(t, e.db, other.cfg)
	if err := tryOnce(t, &other); err != nil {
		t.Error(err)
	}
}

func otherVersion(t *testing.T, e *engine) {
	other := *e
	other.cfg.Table = "newer"
	createTables(t, e.db, other.cfg)
	for _, version := range []string{"1", "3"} {
		e.exec(t, "UPDATE newer_lock SET epoch = "+version)
		if version == "1" {
			e.exec(t, "ALTER TABLE newer_lock DROP COLUMN holders") // which that one did not have
		}
		err := tryOnce(t, &other)
		wants(t, err, "version "+version, "version 2")
		if !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("the error is not ErrOptions: %v", err)
		}
		wants(t, sqlstore.CreateTables(t.Context(), e.db, other.cfg), "version "+version)
	}
}

func missingColumn(t *testing.T, e *engine) {
	other := *e
	other.cfg.Table = "older"
	createTables(t, e.db, other.cfg)
	e.exec(t, "ALTER TABLE older_lock DROP COLUMN broken")
	wants(t, tryOnce(t, &other), "broken", "CREATE TABLE")
}

func createdAtOnce(t *testing.T, e *engine) {
	cfg := sqlstore.Config{Table: "atonce"}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := sqlstore.CreateTables(t.Context(), e.db, cfg); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func otherName(t *testing.T, e *engine) {
	other := *e
	other.cfg.Table = map[string]string{"postgres": "My_Schema.Locks", "mariadb": path.Base(e.url) + ".Locks", "sqlite": "main.Locks"}[e.name]
	if e.name == "postgres" {
		e.exec(t, `CREATE SCHEMA "My_Schema"`)
	}
	createTables(t, e.db, other.cfg)
	if err := tryOnce(t, &other); err != nil {
		t.Error(err)
	}
}

func unusableName(t *testing.T, e *engine) {
	for _, name := range []string{"a b", "a.b.c", `a"b`, "1a", "a;DROP TABLE lockgen_lock", strings.Repeat("x", 60)} {
		cfg := sqlstore.Config{Dialect: sqlstore.Postgres, Table: name}
		if _, err := sqlstore.DDL(cfg); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("the DDL of %q: %v", name, err)
		}
		if _, err := lockrt.New(sqlstore.New(e.db, sqlstore.Config{Table: name}), lockrt.Config{}); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("a store with the table %q: %v", name, err)
		}
	}
}

func deletedTables(t *testing.T, e *engine) {
	other := *e
	other.cfg.Table = "deleted"
	createTables(t, e.db, other.cfg)
	l := other.locker(t, "a")
	lease, err := l.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	e.exec(t, "DROP TABLE deleted_lock")
	_, err = l.TryAcquire(t.Context(), "other", lockrt.Options{TTL: long})
	wants(t, err, "deleted_lock", "CREATE TABLE")
	if err := lease.Release(t.Context()); err == nil {
		t.Error("the release of a lease whose table is gone succeeds")
	}
	createTables(t, e.db, other.cfg) // Close tries again
}

// A role with the rights that are documented does everything, and one without says which.
func TestStore_rights(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		e := postgres(t)
		e.exec(t, "CREATE ROLE the_role LOGIN PASSWORD 'p'")
		e.exec(t, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
		e.exec(t, "GRANT USAGE ON SCHEMA public TO the_role")
		u, err := url.Parse(e.url)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("the_role", "p")
		e.rights(t, "pgx", u.String(), "REVOKE UPDATE ON lockgen_lock FROM the_role")
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		e := mariaDB(t)
		e.exec(t, "CREATE USER the_user@'127.0.0.1' IDENTIFIED BY 'p'")
		_, after, _ := strings.Cut(mysqlDSN(e.url), "@")
		e.rights(t, "mysql", "the_user:p@"+after, "REVOKE UPDATE ON lockgen_lock FROM the_user@'127.0.0.1'")
	})
}

func (e *engine) rights(t *testing.T, driver, dsn, revoke string) {
	cfg := sqlstore.Config{Dialect: map[string]sqlstore.Dialect{"postgres": sqlstore.Postgres, "mariadb": sqlstore.MySQL}[e.name]}
	grants, err := sqlstore.Grants(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(grants, ";") {
		if strings.TrimSpace(text) != "" {
			e.exec(t, strings.ReplaceAll(text, "the_user", "the_user@'127.0.0.1'"))
		}
	}
	role := *e
	role.db = openDB(t, driver, dsn)
	// It looks, and does not need to create anything.
	createTables(t, role.db, cfg)
	a, b := role.locker(t, "a"), role.locker(t, "b")
	lease, err := a.Acquire(t.Context(), "k", lockrt.Options{TTL: long})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		lease, err := b.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		done <- errors.Join(err, lease.Release(t.Context()))
	}()
	for {
		info, err := a.Holder(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Waiters) > 0 {
			break
		}
	}
	if err := errors.Join(lease.Extend(t.Context(), 2*long), lease.Check(t.Context())); err != nil {
		t.Error(err)
	}
	if _, err := a.List(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if err := b.Break(t.Context(), "k", "test"); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	e.exec(t, revoke)
	_, err = a.TryAcquire(t.Context(), "other", lockrt.Options{TTL: long})
	wants(t, err, "GRANT SELECT")
}

// What locks cannot rest on is refused at once, with the reason.
func TestOpen_refusals(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	if _, err := e.db.Exec("ALTER TABLE lockgen_lock ADD COLUMN more int"); err != nil { // by a later version
		t.Fatal(err)
	}
	password := strings.SplitN(strings.SplitN(e.url, "@", 2)[0], ":", 3)[2]
	typo, empty := filepath.Join(t.TempDir(), "typo.db"), filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(typo); err == nil {
			t.Error("a file was left behind for a typo")
		}
	})
	with := func(key, value string) string { return e.url + "&" + key + "=" + url.PathEscape(value) }
	for name, c := range map[string]struct {
		url   string
		wants []string
	}{
		"serializable":           {with("default_transaction_isolation", "serializable"), []string{"serializable", "read committed"}},
		"repeatable read":        {with("default_transaction_isolation", "repeatable read"), []string{"repeatable read", "read committed"}},
		"read-only":              {with("default_transaction_read_only", "on"), []string{"no writes"}},
		"another database":       {e.at("nothere"), []string{"nothere"}},
		"wrong password":         {strings.Replace(e.url, password, "wrong-one", 1), []string{"password"}},
		"no server":              {"postgres://a:secret-one@127.0.0.1:1/db", []string{"127.0.0.1"}},
		"no URL":                 {"postgres://a:secret-one@%zz/db", []string{"URL"}},
		"MySQL without database": {"mysql://a:secret-one@127.0.0.1:1", []string{"mysql://user:password@host"}},
		"MySQL, no server":       {"mysql://a:secret-one@127.0.0.1:1/db", []string{"127.0.0.1"}},
		"SQLite in memory":       {"sqlite::memory:", []string{"memory:"}},
		"SQLite, no file":        {"sqlite:", []string{"sqlite:FILE"}},
		"SQLite, no folder":      {"sqlite:/nothere/at/all.db", []string{"no such file"}},
		"SQLite, a typo":         {"sqlite:" + typo, []string{"no such file", "CreateTables"}},
		"SQLite, no tables":      {"sqlite:" + empty, []string{"CREATE TABLE"}},
		"SQLite, parameters":     {"sqlite:" + empty + "?_pragma=key('secret-one')", []string{"without parameters", "sqlstore.New"}},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := lockrt.Open(t.Context(), c.url, lockrt.Config{})
			if err == nil {
				_ = l.Close(t.Context())
			}
			wants(t, err, c.wants...)
			for _, secret := range []string{"secret-one", "wrong-one", password} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error holds the password: %v", err)
				}
			}
		})
	}
	t.Run("columns that a later version added are none", func(t *testing.T) {
		l, err := lockrt.Open(t.Context(), e.url, lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Do(t.Context(), "k", lockrt.Options{TTL: long}, func(context.Context, *lockrt.Lease) error { return nil }),
			l.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// The other drivers of an engine are found too, and what is missing is named.
func TestOpen_mysql(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	_, err := lockrt.Open(t.Context(), e.at("nothere"), lockrt.Config{})
	if wants(t, err, "nothere", "create the database"); strings.Contains(err.Error(), "CREATE TABLE") {
		t.Errorf("the advice does not help: %v", err)
	}
	l, err := lockrt.Open(t.Context(), e.url, lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long}); err != nil {
		t.Error(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A connection that does not commit by itself would undo a grant when it ends, and in others statements fail.
func TestOpen_unfitConnection(t *testing.T) {
	t.Parallel()
	e := mariaDB(t)
	for what, dsn := range map[string]string{
		"autocommit is off": "?autocommit=0", "takes no writes": testenv.MariaDBParams("?tx_read_only=1"),
		"completion_type is CHAIN": "?completion_type=%27CHAIN%27", "sql_safe_updates is on": "?sql_safe_updates=1",
		"sql_mode has EMPTY_STRING_IS_NULL": "?sql_mode=%27EMPTY_STRING_IS_NULL%27", "sql_select_limit is 20": "?sql_select_limit=20",
		"READ UNCOMMITTED": testenv.MariaDBParams("?tx_isolation=%27READ-UNCOMMITTED%27"),
	} {
		if strings.Contains(dsn, "EMPTY_STRING_IS_NULL") && testenv.OnMySQL() {
			continue // it has no such mode
		}
		l, err := lockrt.New(sqlstore.New(openDB(t, "mysql", mysqlDSN(e.url)+dsn), sqlstore.Config{}), lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close(context.Background()) }()
		_, err = l.TryAcquire(t.Context(), "k", lockrt.Options{TTL: long})
		wants(t, err, what)
	}
}

// Many Lockers on one small pool leave connections to each other. Each would keep one if it could.
func TestStore_manyLockersInOnePool(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		db := openLike(t, e)
		db.SetMaxOpenConns(4)
		small := &engine{name: e.name, db: db, cfg: e.cfg}
		var leases []*lockrt.Lease
		var lockers []*lockrt.Locker
		for i := range 6 {
			l := small.locker(t, fmt.Sprint("node", i))
			lease, err := l.Acquire(t.Context(), fmt.Sprint("k", i), lockrt.Options{TTL: 4 * time.Second, Wait: testsync.Patience})
			if err != nil {
				t.Fatal(err)
			}
			lockers, leases = append(lockers, l), append(leases, lease)
		}
		renewed := make([]time.Time, len(leases))
		for i, lease := range leases {
			renewed[i] = lease.Deadline()
		}
		testsync.Eventually(t, "all leases are renewed", func() bool {
			for i, lease := range leases {
				if err := lease.Err(); err != nil {
					t.Fatal(err)
				}
				if !lease.Deadline().After(renewed[i]) {
					return false
				}
			}
			return true
		})
		for i, lease := range leases {
			if err := lease.Release(t.Context()); err != nil {
				t.Error(err)
			}
			if err := lockers[i].Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func ExampleDDL() {
	text, err := sqlstore.DDL(sqlstore.Config{Dialect: sqlstore.SQLite, Table: "app"})
	fmt.Println(strings.Contains(text, `CREATE TABLE IF NOT EXISTS "app_lock"`), err)
	// Output: true <nil>
}
