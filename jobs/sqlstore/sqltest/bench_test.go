package sqltest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// BenchmarkStore claims, begins and ends 256 runs of as many jobs, each step in one call.
func BenchmarkStore(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *engine{"postgres": postgres, "mariadb": mariaDB, "sqlite": sqlite} {
		b.Run(name, func(b *testing.B) {
			const many = 256
			s, ctx := open(b).store(), context.Background()
			r := jobs.Registration{Session: "s"}
			for i := range many {
				r.Offers = append(r.Offers, jobs.Offer{Definition: jobs.Definition{Job: fmt.Sprint("job-", i)}})
			}
			view, err := s.Register(ctx, r)
			if err != nil {
				b.Fatal(err)
			}
			var took [3]time.Duration
			round := 0
			for b.Loop() {
				claims := stormClaims(view, 0, round, many)
				round++
				begun := time.Now()
				for _, got := range s.Claim(ctx, claims) {
					if got.Err != nil || got.Status != jobs.ClaimWon {
						b.Fatal(got)
					}
				}
				starts, finishes := make([]jobs.Start, many), make([]jobs.Finish, many)
				for i, c := range claims {
					run := c.InFlight.Run
					run.Started = view.Now
					starts[i] = jobs.Start{Run: run, Owner: c.InFlight.Owner, Lease: time.Minute}
					run.Outcome, run.Ended = jobs.OutcomeOK, view.Now
					finishes[i] = jobs.Finish{Run: run, Owner: c.InFlight.Owner, Lease: time.Minute, Keep: 10}
				}
				claimed := time.Now()
				if err := errors.Join(s.Start(ctx, starts)...); err != nil {
					b.Fatal(err)
				}
				started := time.Now()
				if err := errors.Join(s.Finish(ctx, finishes)...); err != nil {
					b.Fatal(err)
				}
				took[0] += claimed.Sub(begun)
				took[1] += started.Sub(claimed)
				took[2] += time.Since(started)
			}
			for i, what := range []string{"claim", "start", "finish"} {
				b.ReportMetric(float64(took[i].Microseconds())/float64(many*round), "µs/"+what)
			}
		})
	}
}
