//go:build linux

package pgxlisten_test

import (
	"context"
	"database/sql"
	"log/slog"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/lockchaos"
	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/sqlstore"
	"github.com/lockgen/lockgen/runtime/sqlstore/pgxlisten"
)

func init() { beChaosProcess = func() { lockchaos.BeProcess(openChaos) } }

// chaosConfig is that of all processes: they are taken for dead soon.
var chaosConfig = sqlstore.Config{Liveness: time.Second}

// openChaos opens the stores of a process, each of which listens.
func openChaos(plan lockchaos.Plan) (lockchaos.Stores, error) {
	db, err := sql.Open("pgx", plan.URL)
	if err != nil {
		return lockchaos.Stores{}, err
	}
	if _, err := pgxlisten.New(plan.URL); err != nil {
		return lockchaos.Stores{}, err
	}
	db.SetMaxOpenConns(10)
	return lockchaos.Stores{
		New: func() lockrt.Store {
			cfg := chaosConfig
			cfg.Listener, _ = pgxlisten.New(plan.URL) // it has been understood
			return sqlstore.New(db, cfg)
		},
		Close: db.Close,
	}, nil
}

// Processes that listen are killed and stopped, their lines cut, silenced and slowed down, answers and notifications
// lost, listeners ended by the server. Whoever hears nothing asks.
func TestListener_chaos(t *testing.T) {
	server, db := postgres(t)
	breaker, err := lockrt.New(sqlstore.New(db, chaosConfig), lockrt.Config{
		Node: "breaker", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = breaker.Close(context.Background()) })
	way, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	endListeners := lockchaos.Harm{Name: "end listeners", Odds: 4, Do: func(c *lockchaos.Chaos, _ *lockchaos.Process) {
		if _, err := db.ExecContext(c.Ctx,
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND pid <> pg_backend_pid()",
		); err != nil {
			t.Error(err)
		}
	}}
	lockchaos.Run(t, lockchaos.Config{
		Processes: 3, Workers: 3, Lasts: 8 * time.Second, Kinds: true, Breaker: breaker, Unsteady: true,
		Line: func() lockchaos.Line {
			p := testenv.NewProxy(t, server.Addr())
			there := *way
			there.Host = p.Addr()
			return lockchaos.ProxyLine{Proxy: p, Way: there.String()}
		},
		Harms:   slices.Concat(lockchaos.ProxyHarms, []lockchaos.Harm{endListeners}),
		AtLeast: map[string]int{"writer": 5, "reader": 5, "readers together": 1, "permit": 5, "permits together": 1},
	})
}
