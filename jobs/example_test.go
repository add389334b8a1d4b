package jobs_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/lockgen/lockgen/jobs"
	_ "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	// In production: redis://…, with runtime/redisstore imported, and any number of nodes.
	locks, err := lockrt.Open(ctx, "memory:", lockrt.Config{Node: "node-1"})
	if err != nil {
		panic(err)
	}
	defer locks.Close(context.Background())

	s, err := jobs.New(locks, jobs.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		panic(err)
	}
	err = s.Add(jobs.Job{
		Name: "greet",
		Spec: "@every 1s",
		Run: func(ctx context.Context) error {
			job, tick, _ := jobs.TickFromContext(ctx)
			fmt.Println(job, "at a whole second:", tick.Nanosecond() == 0, "under lock:", lockrt.FromContext(ctx).Key())
			cancel() // one is enough here
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	if err := s.Run(ctx); err != nil {
		panic(err)
	}
	// Output: greet at a whole second: true under lock: job:greet
}

func ExampleScheduler_Add() {
	locks, err := lockrt.Open(context.Background(), "memory:", lockrt.Config{})
	if err != nil {
		panic(err)
	}
	defer locks.Close(context.Background())
	s, err := jobs.New(locks, jobs.Config{})
	if err != nil {
		panic(err)
	}

	nightly := jobs.Job{
		Name:    "reports.nightly",
		Spec:    "30 2 * * *",
		TZ:      "Europe/Berlin",
		Run:     func(ctx context.Context) error { return nil },
		Lock:    lockrt.Options{TTL: time.Minute},
		Misfire: jobs.MisfireOnce,
		Overlap: jobs.OverlapSkip,
		Timeout: time.Hour,
		Retries: 3,
	}
	fmt.Println(s.Add(nightly))
	fmt.Println(s.Add(nightly))

	nightly.Name, nightly.Spec = "reports.leap", "0 0 31 2 *"
	fmt.Println(s.Add(nightly))
	// Output:
	// <nil>
	// add job "reports.nightly": the scheduler has a job of that name; give each its own, runs are recorded under it
	// add job "reports.leap": cron spec "0 0 31 2 *": it never fires: none of the months chosen has such a day of month; choose a day that exists, for the last day of a month run daily and check in the job
}
