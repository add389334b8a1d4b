package jobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockgen/lockgen/jobs"
	_ "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// A one-off job is kept in the store until its time, and runs on any node that has the handler. Asking for it twice
// under the same id is asking once.
func ExampleScheduler_At() {
	ctx, cancel := context.WithCancel(context.Background())
	locks, err := lockrt.Open(ctx, "memory:", lockrt.Config{})
	if err != nil {
		panic(err)
	}
	defer locks.Close(context.Background())
	s, err := jobs.New(locks, jobs.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	err = s.AddHandler(jobs.Handler{
		Name: "reminder",
		Run: func(_ context.Context, id string, payload []byte) error {
			fmt.Printf("%s: %s\n", id, payload)
			cancel() // one is enough here
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	for range 2 {
		if err := s.At(ctx, "reminder", "order-42", time.Now().Add(50*time.Millisecond),
			[]byte("please pay")); err != nil {
			panic(err)
		}
	}
	if err := s.Run(ctx); err != nil {
		panic(err)
	}
	// Output: order-42: please pay
}
