//go:build linux

package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgen/lockgen/internal/lockchaos"
	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

func init() { beChaosProcess = func() { lockchaos.BeProcess(openChaos) } }

// chaosConfig is that of all processes: they are taken for dead soon.
var chaosConfig = sqlstore.Config{Liveness: time.Second}

// openChaos opens the stores of a process. Its URL is what the driver takes.
func openChaos(plan lockchaos.Plan) (lockchaos.Stores, error) {
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // what it says about connections is no news here
	db, err := sql.Open(plan.Engine, plan.URL)
	if err != nil {
		return lockchaos.Stores{}, err
	}
	db.SetMaxOpenConns(10)
	return lockchaos.Stores{
		New:   func() lockrt.Store { return sqlstore.New(db, chaosConfig) },
		Close: db.Close,
	}, nil
}

// chaosOf is what the engines have in common. Few processes of few workers make a machine busy enough.
func (e *engine) chaosOf(t *testing.T, driver string) lockchaos.Config {
	breaker, err := lockrt.New(sqlstore.New(e.db, chaosConfig), lockrt.Config{
		Node: "breaker", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = breaker.Close(context.Background()) })
	return lockchaos.Config{
		Engine: driver, Processes: 3, Workers: 3, Lasts: 6 * time.Second, Breaker: breaker, Unsteady: true,
		Left: e.rowsInUse,
	}
}

// rowsInUse lists the locks that somebody has or waits for.
func (e *engine) rowsInUse(ctx context.Context) (rows []string) {
	found, err := e.db.QueryContext(ctx, "SELECT lock_key, owner, queue FROM lockgen_lock WHERE owner <> '' OR queue <> ''")
	if err != nil {
		return []string{err.Error()}
	}
	defer found.Close()
	for found.Next() {
		var key, owner, queue string
		if err := found.Scan(&key, &owner, &queue); err != nil {
			return append(rows, err.Error())
		}
		rows = append(rows, fmt.Sprintf("%s of %s, queue %q", key, owner, queue))
	}
	if err := found.Err(); err != nil {
		rows = append(rows, err.Error())
	}
	return rows
}

// controlled is a server that can be made to fail.
type controlled interface {
	Pause() error
	Resume() error
	Restart() error
}

// serverHarms kills a server and starts it again, and stops it for a while.
func serverHarms(name string, server controlled) []lockchaos.Harm {
	done := func(c *lockchaos.Chaos, err error) {
		if err != nil {
			c.T.Error(err)
		}
	}
	return []lockchaos.Harm{
		{Name: "restart " + name, Odds: 2, Do: func(c *lockchaos.Chaos, _ *lockchaos.Process) { done(c, server.Restart()) }},
		{Name: "stop " + name, Odds: 1, Do: func(c *lockchaos.Chaos, _ *lockchaos.Process) {
			done(c, server.Pause())
			time.Sleep(50*time.Millisecond + lockchaos.UpTo(c.Rand, 1500*time.Millisecond))
			done(c, server.Resume())
		}},
	}
}

// endConnections has the server end all connections but the caller's.
func (e *engine) endConnections(list, end string) lockchaos.Harm {
	return lockchaos.Harm{Name: "end connections", Odds: 2, Do: func(c *lockchaos.Chaos, _ *lockchaos.Process) {
		rows, err := e.db.QueryContext(c.Ctx, list)
		if err != nil {
			return // the server has just been away
		}
		defer rows.Close()
		var ids []string
		for rows.Next() {
			var id string
			if rows.Scan(&id) == nil {
				ids = append(ids, id)
			}
		}
		for _, id := range ids {
			_, _ = e.db.ExecContext(c.Ctx, fmt.Sprintf(end, id)) // it may have gone
		}
	}}
}

// chaos runs processes with locks of one holder, and others with readers, writers, permits and downgrades.
func chaos(t *testing.T, config func(t *testing.T) lockchaos.Config) {
	t.Parallel()
	t.Run("alone", func(t *testing.T) {
		cfg := config(t)
		cfg.AtLeast = map[string]int{"writer": 20}
		lockchaos.Run(t, cfg)
	})
	t.Run("kinds", func(t *testing.T) {
		cfg := config(t)
		cfg.Kinds = true
		cfg.AtLeast = map[string]int{
			"writer": 5, "reader": 5, "readers together": 1, "permit": 5, "permits together": 1,
		}
		lockchaos.Run(t, cfg)
	})
}

func TestPostgres_chaos(t *testing.T) { chaos(t, postgresChaos) }
func TestMariaDB_chaos(t *testing.T)  { chaos(t, mariaDBChaos) }
func TestSQLite_chaos(t *testing.T)   { chaos(t, sqliteChaos) }

// postgresChaos lets half of the processes reach the server through a pooler in transaction mode.
func postgresChaos(t *testing.T) lockchaos.Config {
	server, e := ownPostgres(t)
	bouncer := testenv.PgBouncer(t, server)
	cfg := e.chaosOf(t, "pgx")
	lines := 0
	cfg.Line = func() lockchaos.Line {
		if lines++; lines%2 == 0 {
			p := testenv.NewProxy(t, bouncer.Addr())
			return lockchaos.ProxyLine{Proxy: p, Way: withHost(t, bouncer.URL(), p.Addr()) + "&default_query_exec_mode=exec"}
		}
		p := testenv.NewProxy(t, server.Addr())
		return lockchaos.ProxyLine{Proxy: p, Way: withHost(t, server.URL(), p.Addr())}
	}
	cfg.Harms = slices.Concat(lockchaos.ProxyHarms, serverHarms("the server", server))
	cfg.Harms = append(cfg.Harms, serverHarms("the pooler", bouncer)...)
	cfg.Harms = append(cfg.Harms, e.endConnections("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() "+
		"AND backend_type = 'client backend'", "SELECT pg_terminate_backend(%s)"))
	return cfg
}

func withHost(t *testing.T, text, host string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = host
	return u.String()
}

func mariaDBChaos(t *testing.T) lockchaos.Config {
	server := testenv.MariaDB(t)
	e := mariaDBAt(t, server.DSN())
	cfg := e.chaosOf(t, "mysql")
	cfg.Line = func() lockchaos.Line {
		p := testenv.NewProxy(t, server.Addr())
		return lockchaos.ProxyLine{Proxy: p, Way: strings.Replace(server.DSN(), server.Addr(), p.Addr(), 1)}
	}
	cfg.Harms = slices.Concat(lockchaos.ProxyHarms, serverHarms("the server", server))
	cfg.Harms = append(cfg.Harms, e.endConnections("SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() "+
		"AND user = SUBSTRING_INDEX(USER(), '@', 1)", "KILL %s"))
	return cfg
}

// fileLine is the way to a file.
type fileLine struct{ dsn string }

func (l fileLine) URL() string { return l.dsn }
func (fileLine) Calm()         {}
func (fileLine) Close()        {}

// sqliteChaos has no harms of its own: a process that is stopped in the middle of a statement stops all others on the
// file, until it goes on or is killed.
func sqliteChaos(t *testing.T) lockchaos.Config {
	file := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	e := &engine{name: "sqlite", db: openSQLite(t, file), url: file}
	cfg := e.chaosOf(t, "sqlite")
	cfg.Line = func() lockchaos.Line { return fileLine{sqliteDSN(file)} }
	return cfg
}
