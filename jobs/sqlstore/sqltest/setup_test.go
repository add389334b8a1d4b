package sqltest

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
	"github.com/lockgen/lockgen/jobs/storetest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func (e *engine) exec(t *testing.T, query string) {
	t.Helper()
	if _, err := e.db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
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
}

// use calls a store as nodes do.
func use(t *testing.T, s *sqlstore.Store) error {
	t.Helper()
	_, err := s.Heartbeat(t.Context(), jobs.Heartbeat{Session: "s", Lease: time.Minute})
	return errors.Join(err, s.Put(t.Context(), letter("a")))
}

func TestStore_tables(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		for name, test := range map[string]func(*testing.T, *engine){
			"missing":                     missingTables,
			"one is missing":              missingTable,
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

func missingTables(t *testing.T, e *engine) {
	cfg := sqlstore.Config{Table: "nothere"}
	s := sqlstore.New(e.db, cfg)
	wants(t, use(t, s), "CREATE TABLE", "nothere_job", "CreateTables")
	createTables(t, e.db, cfg)
	if err := use(t, s); err != nil {
		t.Error(err)
	}
}

func missingTable(t *testing.T, e *engine) {
	cfg := sqlstore.Config{Table: "half"}
	createTables(t, e.db, cfg)
	e.exec(t, "DROP TABLE half_node")
	wants(t, use(t, sqlstore.New(e.db, cfg)), "half_node", "CREATE TABLE")
	createTables(t, e.db, cfg)
	if err := use(t, sqlstore.New(e.db, cfg)); err != nil {
		t.Error(err)
	}
}

func otherVersion(t *testing.T, e *engine) {
	cfg := sqlstore.Config{Table: "newer"}
	createTables(t, e.db, cfg)
	e.exec(t, "UPDATE newer_job SET tick_cursor = 2")
	err := use(t, sqlstore.New(e.db, cfg))
	wants(t, err, "version 2", "version 1")
	if !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("the error is not ErrOptions: %v", err)
	}
	wants(t, sqlstore.CreateTables(t.Context(), e.db, cfg), "version 2")
}

func missingColumn(t *testing.T, e *engine) {
	cfg := sqlstore.Config{Table: "older"}
	createTables(t, e.db, cfg)
	e.exec(t, "ALTER TABLE older_job DROP COLUMN search")
	wants(t, use(t, sqlstore.New(e.db, cfg)), "search", "CREATE TABLE")
}

func createdAtOnce(t *testing.T, e *engine) {
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := sqlstore.CreateTables(t.Context(), e.db, sqlstore.Config{Table: "atonce"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func otherName(t *testing.T, e *engine) {
	cfg := sqlstore.Config{}
	cfg.Table = map[string]string{"postgres": "My_Schema.Jobs", "mariadb": path.Base(e.url) + ".Jobs", "sqlite": "main.Jobs"}[e.name]
	if e.name == "postgres" {
		e.exec(t, `CREATE SCHEMA "My_Schema"`)
	}
	createTables(t, e.db, cfg)
	n := 0
	storetest.Run(t, func(*testing.T) jobs.Store {
		n++
		return sqlstore.New(e.db, sqlstore.Config{Table: cfg.Table, Namespace: fmt.Sprint(n)})
	})
}

func unusableName(t *testing.T, e *engine) {
	for _, name := range []string{"a b", "a.b.c", `a"b`, "1a", "a;DROP TABLE lockgen_job", strings.Repeat("x", 60)} {
		if _, err := sqlstore.DDL(sqlstore.Config{Dialect: sqlstore.Postgres, Table: name}); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("the DDL of %q: %v", name, err)
		}
		if err := use(t, sqlstore.New(e.db, sqlstore.Config{Table: name})); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("a store with the table %q: %v", name, err)
		}
	}
	for _, name := range []string{strings.Repeat("x", 300), "a\x00b"} {
		if err := use(t, sqlstore.New(e.db, sqlstore.Config{Namespace: name})); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("a store with the namespace %q: %v", name, err)
		}
	}
	if err := use(t, sqlstore.New(nil, sqlstore.Config{})); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("a store without a db: %v", err)
	}
	if err := use(t, sqlstore.New(e.db, sqlstore.Config{Dialect: "oracle"})); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("a store with another dialect: %v", err)
	}
}

func deletedTables(t *testing.T, e *engine) {
	cfg := sqlstore.Config{Table: "deleted"}
	createTables(t, e.db, cfg)
	s := sqlstore.New(e.db, cfg)
	if err := use(t, s); err != nil {
		t.Fatal(err)
	}
	e.exec(t, "DROP TABLE deleted_oneoff")
	wants(t, use(t, s), "deleted_oneoff", "CREATE TABLE")
	createTables(t, e.db, cfg)
	if err := use(t, s); err != nil {
		t.Error(err)
	}
}

// One connection is enough, also while its caller has none to spare for long.
func TestStore_oneConnection(t *testing.T) {
	engines(t, func(t *testing.T, e *engine) {
		e.db.SetMaxOpenConns(1)
		storetest.Run(t, func(*testing.T) jobs.Store { return e.store() })
	})
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
		e.rights(t, "pgx", u.String(), "the_role")
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		e := mariaDB(t)
		e.exec(t, "CREATE USER the_user@'127.0.0.1' IDENTIFIED BY 'p'")
		_, after, _ := strings.Cut(mysqlDSN(e.url), "@")
		e.rights(t, "mysql", "the_user:p@"+after, "the_user@'127.0.0.1'")
	})
}

func (e *engine) rights(t *testing.T, driver, dsn, role string) {
	cfg := sqlstore.Config{Dialect: map[string]sqlstore.Dialect{"postgres": sqlstore.Postgres, "mariadb": sqlstore.MySQL}[e.name]}
	grants, err := sqlstore.Grants(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(grants, ";\n") {
		if strings.TrimSpace(text) != "" {
			e.exec(t, strings.ReplaceAll(text, "the_user", "the_user@'127.0.0.1'"))
		}
	}
	own := *e
	own.db = openDB(t, driver, dsn)
	createTables(t, own.db, cfg) // it looks, and does not need to create anything
	storetest.Run(t, func(*testing.T) jobs.Store { return own.store() })
	e.exec(t, "REVOKE UPDATE ON lockgen_job FROM "+role)
	offer := jobs.Registration{Session: "s", Offers: []jobs.Offer{{Definition: jobs.Definition{Job: "j"}}}}
	s := own.store()
	for range 2 { // in MySQL the first only inserts
		_, err = s.Register(t.Context(), offer)
	}
	wants(t, err, "GRANT SELECT")
}

// What a server or a file does not let happen is said with its reason.
func TestStore_refusals(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	readOnly := openDB(t, "pgx", e.url+"&default_transaction_read_only=on")
	wants(t, use(t, sqlstore.New(readOnly, sqlstore.Config{})), "no writes")
	wants(t, use(t, sqlstore.New(openDB(t, "pgx", "postgres://a:secret@127.0.0.1:1/db"), sqlstore.Config{})), "127.0.0.1")
	lite := sqlite(t)
	file := strings.TrimPrefix(lite.url, "sqlite:")
	err := use(t, sqlstore.New(openDB(t, "sqlite", "file:"+file+"?mode=ro"), sqlstore.Config{}))
	if err == nil || !strings.Contains(err.Error(), "no writes") && !strings.Contains(err.Error(), "jobs write: the file, its folder") {
		t.Errorf("the error does not say what a file must let jobs do: %v", err) // by the check at the start, or a sign of life before it
	}
	empty := openDB(t, "sqlite", filepath.Join(t.TempDir(), "new.db"))
	wants(t, use(t, sqlstore.New(empty, sqlstore.Config{})), "CREATE TABLE")
}

// A connection that sees what others have not committed would take a run for completed whose work is undone.
func TestStore_refusals_dirtyReads(t *testing.T) {
	t.Parallel()
	lite, maria := sqlite(t), mariaDB(t)
	for driver, dsn := range map[string]string{
		"sqlite": "file:" + strings.TrimPrefix(lite.url, "sqlite:") + "?_pragma=read_uncommitted(1)",
		"mysql":  mysqlDSN(maria.url) + testenv.MariaDBParams("?tx_isolation=%27READ-UNCOMMITTED%27"),
	} {
		wants(t, use(t, sqlstore.New(openDB(t, driver, dsn), sqlstore.Config{})), "READ UNCOMMITTED")
	}
}

// Whatever the default isolation of the connections is, transactions have their own.
func TestStore_isolation(t *testing.T) {
	t.Parallel()
	server := testenv.Postgres(t)
	e, maria := postgresAt(t, server.URL()), mariaDB(t)
	maria.db.Close()
	dsn := mysqlDSN(maria.url)
	bouncer := testenv.PgBouncer(t, server)
	for name, c := range map[string]struct{ driver, dsn string }{
		"serializable":            {"pgx", e.url + "&default_transaction_isolation=serializable"},
		"lib/pq":                  {"postgres", e.url},
		"pgx, simple protocol":    {"pgx", e.url + "&default_query_exec_mode=simple_protocol"},
		"lib/pq behind pgbouncer": {"postgres", bouncer.URL() + "&binary_parameters=yes"},
		"pgx behind pgbouncer":    {"pgx", bouncer.URL() + "&default_query_exec_mode=exec"},
		"mysql, found rows":       {"mysql", dsn + "?clientFoundRows=true"},
		"mysql, no backslash escapes, not strict": {
			"mysql", dsn + testenv.MariaDBParams(
				"?interpolateParams=true&sql_mode=%27NO_BACKSLASH_ESCAPES%27&tx_isolation=%27SERIALIZABLE%27"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openDB(t, c.driver, c.dsn)
			db.SetMaxIdleConns(10)
			other := engine{name: name, db: db, n: e.n}
			storetest.Run(t, func(*testing.T) jobs.Store { return other.store() })
		})
	}
}
