package jobs

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// guardNow makes Config.Now one that can neither end the process nor hold the scheduler up: time.Now stands in for it
// when it fails.
func guardNow(now func() time.Time, log *slog.Logger) (func() time.Time, error) {
	if now == nil {
		return time.Now, nil
	}
	if _, failure := guard(now); failure != "" {
		return nil, fmt.Errorf("jobs.New: Config.Now fails: %s; return a time, or leave it out for time.Now", failure)
	}
	var stuck atomic.Int32
	var failed atomic.Bool
	return func() time.Time {
		if stuck.Load() > 0 {
			return time.Now()
		}
		t, failure := guardCounting(&stuck, now)
		switch {
		case failure == "":
			failed.Store(false)
			return t
		case failed.CompareAndSwap(false, true):
			log.Error("Config.Now fails, time.Now stands in for it", "error", failure)
		}
		return time.Now()
	}, nil
}
