//go:build linux

package redisstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/lockchaos"
	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

func init() { beChaosProcess = func() { lockchaos.BeProcess(openChaos) } }

// chaosConfig is that of all processes: they are taken for dead soon.
var chaosConfig = redisstore.Config{Liveness: time.Second}

func openChaos(plan lockchaos.Plan) (lockchaos.Stores, error) {
	redis.SetLogger(&goRedisLog{}) // what the client says about its connections is no news here
	client := redis.NewClient(&redis.Options{Addr: plan.URL, ContextTimeoutEnabled: true})
	return lockchaos.Stores{
		New:   func() lockrt.Store { return redisstore.New(client, chaosConfig) },
		Close: client.Close,
	}, nil
}

// TestChaos_processes runs processes through killed and stopped ones, cut, silent and late lines, lost answers and
// pushes, and broken locks.
func TestChaos_processes(t *testing.T) {
	cfg := redisChaos(t, testenv.Redis(t))
	cfg.AtLeast = map[string]int{"writer": 20}
	lockchaos.Run(t, cfg)
}

// The same with readers, writers, permits and downgrades, and with a server that is killed and started again. It syncs
// what it has said.
func TestChaos_processesKinds(t *testing.T) {
	server := testenv.Redis(t, testenv.RedisConfig{AOF: true})
	cfg := redisChaos(t, server)
	cfg.Kinds = true
	cfg.Harms = append(cfg.Harms, lockchaos.Harm{
		Name: "restart the server", Odds: 2, Do: func(*lockchaos.Chaos, *lockchaos.Process) { _ = server.Restart() },
	})
	cfg.AtLeast = map[string]int{
		"writer": 5, "reader": 5, "readers together": 1, "permit": 5, "permits together": 1,
	}
	lockchaos.Run(t, cfg)
}

func redisChaos(t *testing.T, server *testenv.RedisServer) lockchaos.Config {
	admin := newClient(t, server)
	return lockchaos.Config{
		Line:    func() lockchaos.Line { return chaosLine{newProxy(t, server.Addr())} },
		Breaker: newLocker(t, newClient(t, server), chaosConfig),
		Harms:   redisHarms(admin),
		Left: func(ctx context.Context) []string {
			queues := admin.Keys(ctx, "*:queue").Val()
			keys, err := immortal.Run(ctx, admin, nil).StringSlice()
			if err != nil || len(keys) > 0 {
				t.Errorf("keys without an expiry: %q, %v", keys, err)
			}
			return queues
		},
	}
}

// chaosLine is a process's connections.
type chaosLine struct{ *proxy }

func (l chaosLine) URL() string { return l.addr }
func (l chaosLine) Calm()       { l.set(func() { l.reply = nil }) }
func (l chaosLine) Close() {
	l.set(func() { l.closed = true })
	l.refuse()
}

// redisHarms are those of lines and of connections.
func redisHarms(admin *redis.Client) []lockchaos.Harm {
	// A flag holds something back for a while.
	flag := func(name string, odds int, of func(*proxy) *bool) lockchaos.Harm {
		return lockchaos.Harm{Name: name, Odds: odds, Do: func(c *lockchaos.Chaos, process *lockchaos.Process) {
			p := process.Line.(chaosLine).proxy
			p.set(func() { *of(p) = true })
			c.Later(func() { p.set(func() { *of(p) = false }) })
		}}
	}
	once := func(name string, odds int, do func(*proxy)) lockchaos.Harm {
		return lockchaos.Harm{Name: name, Odds: odds, Do: func(_ *lockchaos.Chaos, process *lockchaos.Process) {
			p := process.Line.(chaosLine).proxy
			p.set(func() { do(p) })
		}}
	}
	killClients := func(kind string, odds int) lockchaos.Harm {
		return lockchaos.Harm{Name: fmt.Sprintf("kill %s connections", kind), Odds: odds,
			Do: func(c *lockchaos.Chaos, _ *lockchaos.Process) {
				if err := admin.ClientKillByFilter(c.Ctx, "TYPE", kind, "SKIPME", "yes").Err(); err != nil {
					c.T.Errorf("kill %s connections: %v", kind, err)
				}
			}}
	}
	return []lockchaos.Harm{
		once("cut", 3, (*proxy).cutLocked),
		flag("silence", 3, func(p *proxy) *bool { return &p.hole }),
		flag("hold requests back", 3, func(p *proxy) *bool { return &p.deaf }),
		flag("hold answers back", 3, func(p *proxy) *bool { return &p.mute }),
		{Name: "lose pushes", Odds: 2, Do: func(c *lockchaos.Chaos, process *lockchaos.Process) {
			line := process.Line.(chaosLine)
			line.set(func() { line.reply = pushes })
			c.Later(line.Calm)
		}},
		once("lose an answer", 3, first(drop)),
		once("cut for an answer", 3, first(cut)),
		once("cut in an answer", 3, first(tear)),
		killClients("pubsub", 2),
		killClients("normal", 1),
	}
}
