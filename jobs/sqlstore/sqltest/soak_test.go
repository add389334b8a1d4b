package sqltest

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// controlled is a server that can be made to fail.
type controlled interface {
	Kill() error
	Restart() error
	Pause() error
	Resume() error
}

// servers runs a test on a server of its own of each kind, on all at once.
func servers(t *testing.T, test func(*testing.T, *engine, controlled)) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := testenv.Postgres(t)
		test(t, postgresAt(t, server.URL()), server)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		server := testenv.MariaDB(t)
		test(t, mariaDBAt(t, mariaDBURL(server.DSN())), server)
	})
}

// soakTime is how long the long form lasts on each server.
const soakTime = 5 * time.Minute

// TestStore_soak has real processes live through deaths, stops and deploys, while the server is killed and stopped:
// nothing begins twice, every tick has a record, and one-off jobs ran if their transactions were committed. It is a
// deploy and a server that stops, and minutes of all that with LOCKGEN_SOAK, by LOCKGEN_SEED if that is set.
func TestStore_soak(t *testing.T) {
	servers(t, func(t *testing.T, e *engine, server controlled) {
		s := &soak{
			processes: newProcesses(t, e), server: server, random: rand.New(rand.NewPCG(soakSeed(t), 5)),
			acted: make(map[string]int),
		}
		store := sqlstore.New(e.db, sqlstore.Config{})
		for range 3 {
			s.start()
		}
		wanted := s.putMany(e, store)
		s.nextTick()
		acts := []func(){s.deploy, s.pauseServer}
		if os.Getenv("LOCKGEN_SOAK") != "" {
			all := append(acts, s.die, s.die, s.pauseNode, s.killServer)
			acts = nil
			for end := time.Now().Add(soakTime); time.Now().Before(end); {
				all[s.random.IntN(len(all))]()
			}
		}
		for _, act := range acts {
			act()
		}
		testsync.Eventually(t, "what is owed is caught up", func() bool {
			s.drain()
			view, err := store.Look(context.Background(), []string{everySecond})
			waiting, failed := store.Waiting(context.Background(), 1000)
			return err == nil && failed == nil && len(view.Jobs[0].Owed) == 0 && len(waiting) == 0
		})
		s.nextTick()
		s.stop()
		s.judge(store, wanted, 0)
		t.Logf("%d processes, %v", s.started, s.acted)
	})
}

func soakSeed(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKGEN_SEED: %v", err)
		}
	}
	t.Logf("LOCKGEN_SEED=%d repeats this plan", seed)
	return seed
}

// soak is a cluster and its server, to which harm is done. Each act ends when a tick has begun after it.
type soak struct {
	*processes
	server controlled
	random *rand.Rand
	acted  map[string]int // what was done how often
}

func (s *soak) upTo(most time.Duration) { time.Sleep(time.Duration(s.random.Int64N(int64(most)))) }

// act notes what comes next. The moment is no round one.
func (s *soak) act(what string) {
	s.drain()
	s.acted[what]++
	s.upTo(2 * time.Second)
}

// victim is one of those that live.
func (s *soak) victim() string {
	names := slices.Sorted(maps.Keys(s.nodes))
	return names[s.random.IntN(len(names))]
}

func (s *soak) deploy() {
	s.act("deploy")
	s.stopOne(s.victim())
	s.start()
	s.nextTick()
}

func (s *soak) die() {
	s.act("kill a process")
	s.kill(s.victim())
	s.start()
	s.nextTick()
}

func (s *soak) pauseNode() {
	s.act("stop a process")
	victim := s.victim()
	s.signal(victim, syscall.SIGSTOP)
	s.upTo(8 * time.Second)
	s.signal(victim, syscall.SIGCONT)
	s.nextTick()
}

func (s *soak) pauseServer() {
	s.act("stop the server")
	s.must(s.server.Pause())
	s.upTo(8 * time.Second)
	s.must(s.server.Resume())
	s.drain()
	s.nextTick()
}

func (s *soak) killServer() {
	s.act("kill the server")
	err := s.server.Kill()
	s.upTo(8 * time.Second)
	s.must(errors.Join(err, s.server.Restart()))
	s.drain()
	s.nextTick()
}

func (s *soak) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
