package jobs_test

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
)

// TestScheduler_soak has real processes live through deaths, stops, deploys with another spec, outages that last longer
// than a session's lease, flushes, and restarts of the server without its data, while another server hears of each
// begin and of what each process was told: each tick that is due under all specs has begun, or has a record, and none
// begins twice, unless the store lost its data between the two begins and no process that lived on knew of the first. It
// is a deploy and a flush, and ten minutes of all that with LOCKGEN_SOAK, by LOCKGEN_SEED if that is set.
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
	p, ctx := newProcesses(t, server, witness), context.Background()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	specs := []string{"@every 1s", "@every 2s", "* * * * * *", "*/2 * * * * *"}
	start := func() { p.start(specs[random.IntN(len(specs))]) }
	for range 3 {
		p.start(specs[0])
	}
	note := func(what string) { t.Log(time.Now().UTC().Format(time.TimeOnly), what) }
	p.begin()
	from := time.Now()
	short := []int{2, 3}
	for long && time.Since(from) < 10*time.Minute || !long && len(short) > 0 {
		time.Sleep(time.Duration(random.Int64N(int64(2 * time.Second))))
		victim, what := p.running[random.IntN(len(p.running))], random.IntN(6)
		if !long {
			what, short = short[0], short[1:]
		}
		switch what {
		case 0: // dies; the store has all that it knew
			note(victim + " is killed")
			p.kill(victim)
			// A store that forgets its runs before they are taken over would be the last to know.
			p.awaitSuccession(victim)
			start()
		case 1:
			note(victim + " is stopped")
			p.signal(victim, stopSignal)
			time.Sleep(time.Duration(random.Int64N(int64(8 * time.Second))))
			p.signal(victim, continueSignal)
		case 2: // a deploy
			note(victim + " is replaced")
			p.stop(victim)
			p.awaitSuccession(victim)
			start()
		case 3:
			note("the server is flushed")
			p.lose("flushed", func() error { return client.FlushAll(ctx).Err() })
			p.reach(time.Now()) // when the loss was noticed, and a lease has passed
		case 4, 5: // without persistence: a restart forgets
			note("the server is killed")
			p.lose("killed", server.Kill)
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
		view, err := p.store.Look(ctx, []string{"j"})
		return err == nil && len(view.Jobs[0].Owed) == 0
	})
	p.stop(p.running...)
	records := p.records()
	told := p.recorded() // the store may have lost them since
	for _, r := range records {
		told = append(told, r.Tick.Format(time.RFC3339))
	}
	left, err := p.store.InFlight(ctx) // passed on by the last node to leave
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		told = append(told, f.Run.Tick.Format(time.RFC3339))
	}
	missed := 0
	for tick := from.UTC().Truncate(2 * time.Second).Add(2 * time.Second); tick.Before(to); tick = tick.Add(2 * time.Second) {
		if text := tick.Format(time.RFC3339); len(p.begins[text]) == 0 && !slices.Contains(told, text) {
			t.Errorf("tick %s has neither begun nor a record; %s", text, p.decided(tick))
			missed++
		}
	}
	t.Logf("%d ticks began, %d records are left, %d missed", len(p.begins), len(records), missed)
}
