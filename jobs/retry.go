package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// retry returns the attempt after this one, nil if there is to be none.
func (x *attempt) retry() *InFlight {
	r := x.p.Run
	retryable := []Outcome{OutcomeError, OutcomePanic, OutcomeTimeout, OutcomeLost, OutcomeCancelled}
	if !slices.Contains(retryable, r.Outcome) || r.Attempt > x.e.job.Retries {
		return nil
	}
	next := x.s.furtherAttempt(r, r.Attempt+1, TriggerRetry)
	next.Backlog, next.Patient = x.p.Backlog, x.p.Patient
	return next
}

// heldTime is how long a retry comes back to a lock that it finds held. Each keeps a run in flight, of which a job may
// have maxWaiting at a time.
const heldTime = time.Minute

// lockPatiently is lock for any attempt. A tick that finds the lock held is skipped; one that was tried already comes
// back after pauses that grow, as another run may have begun while it paused.
func (x *attempt) lockPatiently(ctx context.Context) (lockrt.Leases, *refusal) {
	began := time.Now()
	for try := 1; ; try++ {
		leases, refusal := x.lock(ctx)
		if refusal == nil || !refusal.held || x.p.Run.Attempt == 1 {
			return leases, refusal
		}
		if waited := time.Since(began); waited >= heldTime {
			refusal.reason += fmt.Sprintf("; so it was each of the %d times that the retry came for it in %s", try,
				waited.Round(time.Second))
			return nil, refusal
		}
		if try == 1 {
			x.s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "job retry waits, "+refusal.reason,
				slog.String("job", x.e.job.Name), slog.Time("tick", x.p.Run.Tick), slog.Int("attempt", x.p.Run.Attempt))
		}
		// The runs that it meets may come as regularly.
		if d := backoff(try + 1); !pause(ctx, d/2+rand.N(d/2)) {
			return nil, leave
		}
	}
}

// backoff is how long to wait before an attempt: from the second on 1 s, 2 s, 4 s … up to a minute.
func backoff(attempt int) time.Duration {
	return min(time.Second<<min(max(attempt-2, 0), 6), time.Minute)
}
