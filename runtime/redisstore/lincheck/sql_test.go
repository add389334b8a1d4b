package lincheck

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// sqlEngine is one database with the tables. dsn names it behind another address, if it has any.
type sqlEngine struct {
	driver, addr string
	dsn          func(addr string) string
	restart      func() error // nil: there is no server
}

func sqlEngines(t *testing.T, test func(*testing.T, *sqlEngine)) {
	engines := map[string]func(t *testing.T) *sqlEngine{
		"postgres": func(t *testing.T) *sqlEngine {
			s := testenv.Postgres(t)
			return &sqlEngine{driver: "pgx", addr: s.Addr(), restart: s.Restart, dsn: withHost(t, s.URL())}
		},
		// A pooler in transaction mode gives every statement another connection.
		"pgbouncer": func(t *testing.T) *sqlEngine {
			s := testenv.Postgres(t)
			b := testenv.PgBouncer(t, s)
			return &sqlEngine{
				driver: "pgx", addr: b.Addr(), dsn: withHost(t, b.URL()+"&default_query_exec_mode=exec"),
				restart: func() error { return errors.Join(s.Restart(), b.Restart()) },
			}
		},
		"mariadb": func(t *testing.T) *sqlEngine {
			s := testenv.MariaDB(t)
			return &sqlEngine{driver: "mysql", addr: s.Addr(), restart: s.Restart, dsn: func(addr string) string {
				return strings.Replace(s.DSN(), s.Addr(), addr, 1) + "?interpolateParams=true"
			}}
		},
		"sqlite": func(t *testing.T) *sqlEngine {
			file := filepath.Join(t.TempDir(), "locks.db")
			return &sqlEngine{driver: "sqlite", dsn: func(string) string {
				return "file:" + file + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
			}}
		},
	}
	for name, start := range engines {
		t.Run(name, func(t *testing.T) {
			e := start(t)
			if err := sqlstore.CreateTables(t.Context(), e.open(t, e.addr), sqlstore.Config{}); err != nil {
				t.Fatal(err)
			}
			test(t, e)
		})
	}
}

// withHost returns what puts another address into a URL.
func withHost(t *testing.T, text string) func(addr string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(addr string) string {
		other := *u
		other.Host = addr
		return other.String()
	}
}

func (e *sqlEngine) open(t *testing.T, addr string) *sql.DB {
	t.Helper()
	db, err := sql.Open(e.driver, e.dsn(addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(10)
	return db
}

// locker is a process of its own: it has a pool.
func (e *sqlEngine) locker(t *testing.T, addr string, cfg lockrt.Config) *lockrt.Locker {
	t.Helper()
	db := e.open(t, addr)
	cfg.Logger = slog.New(slog.DiscardHandler)
	locks, err := lockrt.New(sqlstore.New(db, sqlstore.Config{Liveness: 2 * time.Second}), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := locks.Close(ctx); err != nil {
			t.Logf("close: %v", err) // answers may be lost here too
		}
	})
	return locks
}

func (e *sqlEngine) lockers(t *testing.T, n int, cfg lockrt.Config) []*lockrt.Locker {
	t.Helper()
	lockers := make([]*lockrt.Locker, n)
	for i := range lockers {
		lockers[i] = e.locker(t, e.addr, cfg)
	}
	return lockers
}

func TestLinearizable_sql(t *testing.T) {
	n := seed(t)
	sqlEngines(t, func(t *testing.T, e *sqlEngine) {
		for name, cfg := range map[string]lockrt.Config{"handing on locally": {}, "strict order": {LocalHandoffs: -1}} {
			t.Run(name, func(t *testing.T) {
				cfg.Namespace = name
				run(t, e.lockers(t, 3, cfg), 9, 15, n, false).mustBe(t, porcupine.Ok)
			})
		}
		t.Run("leases run out", func(t *testing.T) {
			run(t, e.lockers(t, 2, lockrt.Config{Namespace: "short"}), 6, 12, n, true).mustBe(t, porcupine.Ok)
		})
	})
}

func TestLinearizable_sqlKinds(t *testing.T) {
	n := seed(t)
	sqlEngines(t, func(t *testing.T, e *sqlEngine) {
		for name, cfg := range orders {
			t.Run(name, func(t *testing.T) {
				cfg.Namespace = name
				load{clients: 9, rounds: 20, kinds: allKinds, stays: 2 * time.Millisecond}.
					run(t, e.lockers(t, 3, cfg), n).mustBe(t, porcupine.Ok)
			})
		}
		t.Run("nobody waits", func(t *testing.T) {
			load{clients: 4, rounds: 30, kinds: allKinds[1:4], stays: 5 * time.Millisecond, pauses: 10 * time.Millisecond}.
				run(t, e.lockers(t, 4, lockrt.Config{Namespace: "idle"}), n).mustBe(t, porcupine.Ok)
		})
		t.Run("leases run out", func(t *testing.T) {
			load{clients: 6, rounds: 12, kinds: allKinds, hangs: true}.
				run(t, e.lockers(t, 3, lockrt.Config{Namespace: "short"}), n).mustBe(t, porcupine.Ok)
		})
	})
}

// Answers are lost with their connections.
func TestLinearizable_sqlAnswersLost(t *testing.T) {
	n := seed(t)
	sqlEngines(t, func(t *testing.T, e *sqlEngine) {
		if e.restart == nil {
			t.Skip("there is no network")
		}
		lockers := make([]*lockrt.Locker, 3)
		for i := range lockers {
			c := newChaos(t, e.addr, n+uint64(i), 40)
			lockers[i] = e.locker(t, c.ln.Addr().(*net.TCPAddr).String(), lockrt.Config{})
		}
		for name, kinds := range map[string][]visit{"exclusive": {{}}, "all kinds": allKinds} {
			t.Run(name, func(t *testing.T) {
				h := load{clients: 6, rounds: 15, kinds: kinds, hangs: true}.run(t, lockers, n)
				h.mustBe(t, porcupine.Ok)
			})
		}
	})
}

// The server is killed again and again. It keeps its rows, and nobody counts as dead because of it.
func TestLinearizable_sqlRestarts(t *testing.T) {
	n := seed(t)
	sqlEngines(t, func(t *testing.T, e *sqlEngine) {
		if e.restart == nil {
			t.Skip("there is no server")
		}
		lockers := e.lockers(t, 3, lockrt.Config{})
		stop, done := make(chan struct{}), make(chan error, 1)
		go func() {
			for range 4 {
				for up := false; !up; { // it is killed when it has served somebody
					lease, err := lockers[0].TryAcquire(t.Context(), "up", lockrt.Options{TTL: time.Minute})
					up = err == nil || errors.Is(err, lockrt.ErrBusy) || t.Context().Err() != nil
					_ = lease.Release(t.Context())
				}
				select {
				case <-stop:
					done <- nil
					return
				case <-time.After(150 * time.Millisecond):
				}
				if err := e.restart(); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		h := run(t, lockers, 6, 30, n, true)
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
		h.mustBe(t, porcupine.Ok)
	})
}
