package lockrt_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// This file is a random test of everything at once: callers of several Lockers, of all kinds, and Close beside them, at a
// store behind a bad network (chaos_network_test.go). An oracle (chaos_oracle_test.go) knows at each moment who holds what
// at the store, and what each caller (chaos_callers_test.go) was told.
//
// LOCKGEN_SEED=n makes the round n alone, and shows what happened if it fails; LOCKGEN_SOAK makes a thousand times as many.
// With GOMAXPROCS=1 a round is nearly the same each time.

func chaos(t *testing.T, seed uint64) (count map[string]int) {
	testsync.Bubble(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		mem := memstore.New()
		o := newOracle(t, seed, mem)
		count = o.count
		store := &chaosStore{Store: mem, o: o, weather: someWeather(rnd), rnd: rand.New(rand.NewPCG(seed, 2))}
		r := &chaosRound{o: o, store: store, lockers: map[string]*lockrt.Locker{}}
		for i := range []int{1, 3, 9}[rnd.IntN(3)] {
			r.keys = append(r.keys, fmt.Sprintf("key%d", i*i))
		}
		if rnd.IntN(5) == 0 {
			r.slowLog = time.Duration(rnd.IntN(20)) * time.Millisecond
		}
		for i := range 1 + rnd.IntN(3) {
			cfg := lockrt.Config{Node: fmt.Sprintf("node%d", i)}
			cfg.LocalHandoffs = []int{0, 0, -1, 3}[rnd.IntN(4)]
			cfg.LocalHandoffTime = []time.Duration{0, 0, 5 * time.Second}[rnd.IntN(3)]
			cfg.Logger = slog.New(chaosHandler{o, cfg.Node, r.slowLog})
			o.logf("%s: %d hand-offs for %s", cfg.Node, cfg.LocalHandoffs, cfg.LocalHandoffTime)
			locks, err := lockrt.New(store, cfg)
			if err != nil {
				t.Fatal(err)
			}
			r.lockers[cfg.Node], r.names = locks, append(r.names, cfg.Node)
		}
		over := make(chan struct{})
		var beside sync.WaitGroup
		nowAndThen := func(pause func() time.Duration, do func()) {
			beside.Go(func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(pause()):
						do()
					}
				}
			})
		}
		nowAndThen(func() time.Duration { return 103 * time.Millisecond }, func() {
			o.orphans(r.keys)
			o.unfounded()
			o.idle(r.keys)
			if time.Since(o.began) > 20*time.Minute {
				buf := make([]byte, 1<<20)
				panic(fmt.Sprintf("seed %d: the round does not end\n%s", seed, buf[:runtime.Stack(buf, true)]))
			}
		})
		if store.weather.silences {
			own := rand.New(rand.NewPCG(seed, 3))
			nowAndThen(func() time.Duration { return someTime(own) + someTime(own) }, func() {
				store.set(func() { store.silent = !store.silent })
			})
		}
		if store.weather.forgets {
			own := rand.New(rand.NewPCG(seed, 4))
			nowAndThen(func() time.Duration { return someTime(own) + someTime(own) }, func() {
				r.session(r.names[own.IntN(len(r.names))]).forgets()
			})
		}
		var callers, closers sync.WaitGroup
		visits, crowd := 3+rnd.IntN(8), 2+rnd.IntN(14)
		if rnd.IntN(10) == 0 {
			crowd *= 4
		}
		for i := range crowd {
			own := rand.New(rand.NewPCG(seed, uint64(100+i)))
			callers.Go(func() {
				for range visits {
					r.visit(own)
				}
			})
		}
		for i, name := range r.names {
			own, at := rand.New(rand.NewPCG(seed, uint64(50+i))), someTime(rnd)+someTime(rnd)
			early := rnd.IntN(2) == 0
			closers.Go(func() {
				if early {
					time.Sleep(at)
				} else {
					callers.Wait()
				}
				r.close(name, own)
			})
		}
		callers.Wait()
		closers.Wait()
		close(over)
		beside.Wait()
		synctest.Wait()
		if left := lockrtGoroutines(); left != "" && o.count["Closes with an error"] == 0 && !strings.Contains(left, "chaosSession") {
			o.wrong("goroutines are left when all Closes have returned nil:\n%s", left)
		}
		store.set(func() { store.calm, store.silent = true, false })
		time.Sleep(6 * time.Second) // calls that the store does not answer
		for _, s := range o.sessions {
			s.back.Wait()
		}
		synctest.Wait()
		if left := lockrtGoroutines(); left != "" {
			o.wrong("goroutines are left behind all Closes:\n%s", left)
		}
		// Whatever is left ends with its TTL, and so all keys come free.
		last, err := lockrt.New(store, lockrt.Config{Node: "last", Logger: slog.New(chaosHandler{o, "last", 0})})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range r.keys {
			lease, err := last.Acquire(context.Background(), key, lockrt.Options{TTL: time.Second, Wait: 40 * time.Second})
			if err != nil {
				o.wrong("%s does not come free: %v", key, err)
				continue
			}
			o.enter("last", lease, lockrt.Options{TTL: time.Second}, time.Now())
		}
		if err := last.Close(context.Background()); err != nil {
			o.wrong("the last Close: %v", err)
		}
		o.closed("last", r.keys, nil)
		_ = o.probe.Close(context.Background())
		if o.bad > 0 && chaosLog {
			t.Logf("weather %+v\n%s", store.weather, strings.Join(o.trace, "\n"))
		}
	})
	return count
}

// lockrtGoroutines are those of the package in this bubble, without those of its tests.
func lockrtGoroutines() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for i, stack := range strings.Split(string(buf), "\n\n") {
		if i > 0 && strings.Contains(stack, "synctest bubble") && strings.Contains(stack, "lockgen/runtime.") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}

func TestLocker_chaos(t *testing.T) {
	from, rounds := rand.Uint64N(1<<40), uint64(50)
	if os.Getenv("LOCKGEN_SOAK") != "" {
		rounds *= 1000
	}
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		var err error
		if from, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKGEN_SEED: %v", err)
		}
		rounds = 1
	}
	total := make(map[string]int)
	for seed := from; seed < from+rounds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			for what, n := range chaos(t, seed) {
				total[what] += n
			}
		})
	}
	t.Logf("%d rounds: %v", rounds, total)
}
