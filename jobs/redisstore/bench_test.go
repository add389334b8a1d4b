package redisstore_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/redisstore"
)

// BenchmarkStore_round registers 30,000 jobs, and then takes each of them through one tick at each iteration: claimed,
// begun, ended. It reports the processor time that the server spends on one job in each step.
func BenchmarkStore_round(b *testing.B) {
	const n, batch = 30_000, 512
	server := testenv.Redis(b)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: time.Minute})
	defer client.Close()
	ctx, s := context.Background(), redisstore.New(client, "lock")
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	name := func(i int) string { return fmt.Sprintf("example.com/shop/internal/reports.Job%05d", i) }
	spent := map[string]float64{}
	step := func(what string, send func(part []int)) {
		before := serverTime(b, client)
		for part := range slices.Chunk(numbers, batch) {
			send(part)
		}
		spent[what] += serverTime(b, client) - before
	}
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	register := func(part []int) {
		r := jobs.Registration{Session: "s", Peers: []string{"s"}, Grace: time.Minute}
		for _, i := range part {
			d := jobs.Definition{Job: name(i), Program: "example.com/shop", Timing: jobs.Timing{Spec: "* * * * *", Zone: "UTC"}}
			r.Offers = append(r.Offers, jobs.Offer{Definition: d})
		}
		_, err := s.Register(ctx, r)
		must(err)
	}
	step("register", register)
	step("again", register)
	names := make([]string, n)
	for i := range names {
		names[i] = name(i)
	}
	cursors, err := s.Cursors(ctx, names)
	must(err)
	epochs, err := s.Epochs(ctx, names)
	must(err)
	for round := 0; b.Loop(); round++ {
		run := func(i int) jobs.Run {
			return jobs.Run{ID: fmt.Sprint(name(i), "@s.", round), Job: name(i), Tick: cursors[i], Claimed: cursors[i],
				Node: "n0", Attempt: 1, Trigger: jobs.TriggerSchedule}
		}
		step("claim", func(part []int) {
			var claims []jobs.Claim
			for _, i := range part {
				prev := cursors[i]
				cursors[i] = prev.Add(time.Microsecond)
				claims = append(claims, jobs.Claim{Job: name(i), Epoch: epochs[i], Prev: prev, Tick: cursors[i], Due: prev,
					InFlight: &jobs.InFlight{Run: run(i), Owner: "s", Locker: "n0"}, Lease: time.Minute, Keep: 10})
			}
			for _, c := range s.Claim(ctx, claims) {
				if must(c.Err); c.Status != jobs.ClaimWon {
					b.Fatalf("%+v", c)
				}
			}
		})
		step("start", func(part []int) {
			var starts []jobs.Start
			for _, i := range part {
				r := run(i)
				r.Started, r.Fence = r.Claimed, 7
				starts = append(starts, jobs.Start{Run: r, Owner: "s", Lease: time.Minute})
			}
			for _, err := range s.Start(ctx, starts) {
				must(err)
			}
		})
		step("finish", func(part []int) {
			var finishes []jobs.Finish
			for _, i := range part {
				r := run(i)
				r.Started, r.Ended, r.Outcome = r.Claimed, r.Claimed, jobs.OutcomeOK
				finishes = append(finishes, jobs.Finish{Run: r, Owner: "s", Keep: 10})
			}
			for _, err := range s.Finish(ctx, finishes) {
				must(err)
			}
		})
	}
	for _, what := range []string{"register", "again"} {
		b.ReportMetric(spent[what]/n, what+"-µs/job")
	}
	for _, what := range []string{"claim", "start", "finish"} {
		b.ReportMetric(spent[what]/n/float64(b.N), what+"-µs/job")
	}
}

// serverTime is how many microseconds of a processor the server has spent.
func serverTime(b *testing.B, client *redis.Client) (spent float64) {
	b.Helper()
	text, err := client.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if name, seconds, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.HasSuffix(name, "_main_thread") {
			n, err := strconv.ParseFloat(seconds, 64)
			if err != nil {
				b.Fatal(err)
			}
			spent += n * 1e6
		}
	}
	return spent
}
