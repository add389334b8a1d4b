package jobs_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
)

// TestScheduler_soak has real processes live through deaths, stops, deploys with another spec, outages that last longer than a
// session's lease, flushes, and restarts of the server without its data, while another server hears of each begin: no tick begins
// twice, and each that is due under all specs has begun, or has a record. It is a deploy and a flush, and ten minutes of all that
// with LOCKGEN_SOAK, by LOCKGEN_SEED if that is set.
func TestScheduler_soak(t *testing.T) {
	t.Parallel()
	long := os.Getenv("LOCKGEN_SOAK") != ""
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKGEN_SEED: %v", err)
		}
	}
	t.Logf("LOCKGEN_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	server, witness := testenv.Redis(t, testenv.RedisConfig{}), testenv.Redis(t, testenv.RedisConfig{})
	client, hearer := redis.NewClient(&redis.Options{Addr: server.Addr()}), redis.NewClient(&redis.Options{Addr: witness.Addr()})
	defer client.Close()
	defer hearer.Close()
	p := &processes{
		t: t, client: hearer, addr: server.Addr(),
		nodes: make(map[string]*exec.Cmd), stdin: make(map[string]io.Closer), begins: make(map[string]int),
	}
	specs := []string{"@every 1s", "@every 2s", "* * * * * *", "*/2 * * * * *"}
	ctx, store := context.Background(), NewRedisStore(client, "lock")
	var running []string
	start := func(spec string) {
		p.start(witnessEnv+"="+witness.Addr(), specEnv+"="+spec)
		running = append(running, fmt.Sprint("process-", len(p.nodes)-1))
	}
	for range 3 {
		start(specs[0])
	}
	note := func(what string) { t.Log(time.Now().UTC().Format(time.TimeOnly), what) }
	p.begin()
	from := time.Now()
	short := []int{2, 3}
	for long && time.Since(from) < 10*time.Minute || !long && len(short) > 0 {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		victim, what := random.IntN(len(running)), random.IntN(6)
		if !long {
			what, short = short[0], short[1:]
		}
		switch what {
		case 0: // dies; the store has all that it knew
			note(running[victim] + " is killed")
			p.signal(running[victim], syscall.SIGKILL)
			_ = p.nodes[running[victim]].Wait() // it was killed
			// A store that forgets its runs before they are taken over would be the last to know.
			testsync.Eventually(t, "the runs of the dead are taken over", func() bool { return !p.has(store, running[victim]) })
			running = slices.Delete(running, victim, victim+1)
			start(specs[random.IntN(len(specs))])
		case 1:
			note(running[victim] + " is stopped")
			p.signal(running[victim], stopSignal)
			time.Sleep(time.Duration(random.Int64N(int64(8 * time.Second))))
			p.signal(running[victim], continueSignal)
		case 2: // a deploy
			note(running[victim] + " is replaced")
			p.stdin[running[victim]].Close()
			if err := p.nodes[running[victim]].Wait(); err != nil {
				t.Error(err)
			}
			testsync.Eventually(t, "what it passed on is taken over", func() bool { return !p.has(store, running[victim]) })
			running = slices.Delete(running, victim, victim+1)
			start(specs[random.IntN(len(specs))])
		case 3:
			note("the server is flushed")
			if err := client.FlushAll(ctx).Err(); err != nil {
				t.Error(err)
			}
			p.reach(time.Now()) // when the loss was noticed, and a lease has passed
		case 4, 5: // without persistence: a restart forgets
			note("the server is killed")
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(random.Int64N(int64(8 * time.Second))))
			if err := server.Restart(); err != nil {
				t.Fatal(err)
			}
			p.reach(time.Now())
		}
	}
	to := time.Now()
	p.reach(to.Add(2 * time.Second))
	testsync.Eventually(t, "what is owed is caught up", func() bool {
		view, err := store.Look(ctx, []string{"j"})
		return err == nil && len(view.Jobs[0].Owed) == 0
	})
	for _, name := range running {
		p.stdin[name].Close()
		if err := p.nodes[name].Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.hear(store, from, to)
}

// recorded are the ticks of which a node has told that they have a record: the store may have lost it since.
func (p *processes) recorded() map[string]bool {
	said, err := p.client.LRange(context.Background(), "records", 0, -1).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	ticks := make(map[string]bool)
	for _, line := range said {
		_, tick, _ := strings.Cut(line, " ")
		ticks[tick] = true
	}
	return ticks
}

// reach waits until a tick after a time has a record.
func (p *processes) reach(after time.Time) {
	p.t.Helper()
	testsync.Eventually(p.t, "ticks are claimed", func() bool {
		for tick := range p.recorded() {
			if at, err := time.Parse(time.RFC3339, tick); err == nil && at.After(after) {
				return true
			}
		}
		return false
	})
}

// has reports whether runs are in flight that a node has begun or passed on.
func (p *processes) has(store Store, node string) bool {
	flights, err := store.InFlight(context.Background())
	return err != nil || slices.ContainsFunc(flights, func(f Pending) bool { return f.Run.Node == node })
}

// hear holds what the witness heard against the records that are left.
func (p *processes) hear(store Store, from, to time.Time) {
	ctx := context.Background()
	said, err := p.client.LRange(ctx, "begins", 0, -1).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, line := range said {
		_, tick, _ := strings.Cut(line, " ")
		p.begins[tick]++
	}
	for tick, n := range p.begins {
		if n > 1 {
			p.t.Errorf("tick %s began %d times", tick, n)
		}
	}
	records, err := store.Runs(ctx, []string{"j"}, 10_000)
	if err != nil {
		p.t.Fatal(err)
	}
	recorded := p.recorded()
	for _, r := range records[0] {
		tick := r.Tick.Format(time.RFC3339)
		recorded[tick] = true
		if r.Outcome == OutcomeOK && p.begins[tick] != 1 {
			p.t.Errorf("the record says ok of tick %s, which began %d times", tick, p.begins[tick])
		}
	}
	missed := 0
	for tick := from.UTC().Truncate(2 * time.Second).Add(2 * time.Second); tick.Before(to); tick = tick.Add(2 * time.Second) {
		if text := tick.Format(time.RFC3339); p.begins[text] == 0 && !recorded[text] {
			p.t.Errorf("tick %s has neither begun nor a record", text)
			missed++
		}
	}
	p.t.Logf("%d ticks began, %d records are left, %d missed", len(p.begins), len(records[0]), missed)
}
