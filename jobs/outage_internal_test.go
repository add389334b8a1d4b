package jobs

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
)

// countedError counts the calls of its methods.
type countedError struct{ calls *atomic.Int64 }

func (e countedError) Error() string   { e.calls.Add(1); return "refused" }
func (e countedError) Is(error) bool   { e.calls.Add(1); return false }
func (e countedError) As(any) bool     { e.calls.Add(1); return false }
func (e countedError) Unwrap() []error { e.calls.Add(1); return nil }

// What a store's error is, is asked once, and not by each look at all failures, while others wait for those.
func TestOutage_asksErrorsOnce(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		o := newOutage(slog.New(slog.DiscardHandler), "store", 1)
		calls := new(atomic.Int64)
		verdicts := make([]verdict, 100)
		for i := range verdicts {
			verdicts[i] = verdict{job: fmt.Sprint("j", i), err: soundLock(countedError{calls})}
		}
		before := calls.Load()
		for range 10 {
			o.heardEach(0, locking, verdicts)
			time.Sleep(time.Second)
		}
		if err := o.err(); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("the outage is told as %v", err)
		}
		if n := calls.Load() - before; before == 0 || n > 0 {
			t.Errorf("methods were called %d times at first, and then %d times more", before, n)
		}
	})
}

// A job that was refused, named and served is refused again when nobody has been served since: the time of that is known.
func TestOutage_saysSinceWhen(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		o, refused := newOutage(slog.New(slog.DiscardHandler), "store", 1), errors.New("refused")
		for s := range 60 {
			if s < 15 {
				o.heardEach(0, claiming, []verdict{{job: "other", done: true}})
			}
			v := verdict{job: "bad", err: refused}
			if s == 0 || s == 14 {
				v = verdict{job: "bad", done: true}
			}
			o.heardEach(0, recording, []verdict{v})
			if err := o.err(); err != nil && strings.Contains(err.Error(), "0001") {
				t.Fatalf("after %d s: %v", s, err)
			}
			time.Sleep(time.Second)
		}
	})
}

// A job that is refused and locked by turns is told of once.
func TestOutage_logsOnceOfAJobThatIsRefusedAndLocked(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		var log testsync.Log
		o := newOutage(log.Logger(), "store", 1)
		for s := range 600 {
			err := errors.New("refused")
			if s%3 == 2 {
				err = ErrLocked
			}
			o.heardEach(0, claiming, []verdict{{job: "bad", err: err}, {job: "good", done: true}})
			time.Sleep(time.Second)
		}
		if n := strings.Count(log.String(), "fails for this job"); n != 1 {
			t.Errorf("the log says it %d times", n)
		}
	})
}
