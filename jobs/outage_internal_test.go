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
		calls, asker := new(atomic.Int64), &asker{store: "store"}
		verdicts := make([]verdict, 100)
		for i := range verdicts {
			verdicts[i] = verdict{job: fmt.Sprint("j", i), err: countedError{calls}}
			asker.sound(t.Context(), &verdicts[i].err)
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

// An outage that was forgotten, as nobody has asked for a long time, has lasted until it was seen last.
func TestOutage_saysHowLong(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		var log testsync.Log
		o := newOutage(log.Logger(), "store", 1)
		refused := verdict{job: "daily", err: errors.New("refused")}
		for range 20 {
			o.heardEach(0, locking, []verdict{refused})
			time.Sleep(time.Second)
		}
		time.Sleep(24 * time.Hour)
		o.heardEach(0, locking, []verdict{{job: "daily", done: true}})
		if text := log.String(); !strings.Contains(text, "available again\" after=19s") {
			t.Errorf("the log is %s", text)
		}
	})
}

// A cluster that goes on to put off calls for more than a moment is a store that does not answer.
// TestOutage_endsBeforeTheNext has an outage of which nobody hears the end before the next begins: the log has both, each with
// its end.
func TestOutage_endsBeforeTheNext(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		for _, between := range []error{nil, fmt.Errorf("%w: by others", ErrLocked), errors.New("TRYAGAIN later")} {
			var log testsync.Log
			o := newOutage(log.Logger(), "store", 1)
			hear := func(err error) { o.heardEach(0, locking, []verdict{{job: "rare", err: err, done: err == nil}}) }
			for range 2 {
				for range 20 {
					hear(errors.New("refused"))
					time.Sleep(time.Second)
				}
				time.Sleep(time.Hour)
				if between != nil {
					hear(between)
					time.Sleep(time.Hour)
				}
			}
			hear(nil)
			text := log.String()
			if begins, ends := strings.Count(text, "unavailable"), strings.Count(text, "available again\" after=19s"); begins != 2 || ends != 2 {
				t.Errorf("with %v between them: %d begins and %d ends in the log, want two of each:\n%s", between, begins, ends, text)
			}
		}
	})
}

// TestOutage_jobThatMovesForLong has a slot that moves for an hour, with one job: that is named, and the others are served.
func TestOutage_jobThatMovesForLong(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		var log testsync.Log
		o := newOutage(log.Logger(), "store", 1)
		moving := errors.New("TRYAGAIN Multiple keys request during rehashing of slot")
		for s := range 3600 {
			o.heardEach(0, locking, []verdict{{job: "other", done: true}, {job: "moves", err: moving}})
			time.Sleep(time.Second)
			if err := o.err(); s > 15 && (err == nil || !strings.Contains(err.Error(), `"moves"`)) || s < 5 && err != nil {
				t.Fatalf("after %d s Err = %v", s, err)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("the log has %d lines, want one:\n%s", n, log.String())
		}
	})
}

func TestOutage_movesForLong(t *testing.T) {
	for _, what := range []purpose{reading, comparing, starting, beating, offering, claiming, claimingOneOffs, recording} {
		testsync.Bubble(t, func(t *testing.T) {
			var log testsync.Log
			o := newOutage(log.Logger(), "store", 1)
			hear := func(err error) {
				if what.isOfJobs() {
					o.heardEach(0, what, []verdict{{job: "a", err: err, done: err == nil}, {job: "b", err: err, done: err == nil}})
				} else {
					o.heard(0, what, err)
				}
				time.Sleep(time.Second)
			}
			moving := fmt.Errorf("ask Redis: %w", errors.New("TRYAGAIN Multiple keys request during rehashing of slot"))
			for s := range 3600 {
				if hear(moving); s > 15 && o.err() == nil || s < 5 && o.err() != nil {
					t.Fatalf("%s: after %d s Err = %v", what, s, o.err())
				}
			}
			for range 40 {
				hear(nil)
			}
			if err := o.err(); err != nil {
				t.Errorf("%s: Err = %v when it is over", what, err)
			}
			if n := strings.Count(log.String(), "\n"); n != 2 {
				t.Errorf("%s: the log has %d lines, want one of the beginning and one of the end:\n%s", what, n, log.String())
			}
		})
	}
}

// The text of an error may have the name of a job in it, whatever that is.
func TestOutage_jobsThatAreCalledLikeACode(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		o := newOutage(slog.New(slog.DiscardHandler), "store", 1)
		for range 20 {
			o.heardEach(0, claiming, []verdict{{job: "TRYAGAIN", err: errors.New(`claim a tick of job "TRYAGAIN": refused`)}})
			time.Sleep(time.Second)
		}
		if err := o.err(); err == nil || !strings.Contains(err.Error(), "unavailable since") {
			t.Errorf("Err = %v", err)
		}
	})
}

// More one-off jobs fail by themselves than are kept. Then the store fails for all: that shows in the jobs on a schedule.
func TestOutage_afterManyOneOffs(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		o := newOutage(slog.New(slog.DiscardHandler), "store", 1)
		var bad, good []verdict
		for i := range mostJobFailures + 500 {
			bad = append(bad, verdict{job: "mail", oneOff: fmt.Sprint("bad", i), err: errors.New("refused")})
		}
		for i := range 5 {
			good = append(good, verdict{job: fmt.Sprint("good", i), done: true})
		}
		for s := range 120 {
			if s == 60 {
				for i := range good {
					good[i].err, good[i].done = errors.New("refused"), false
				}
			}
			o.heardEach(0, recording, good)
			if s%10 == 0 {
				o.heardEach(0, recording, bad)
			}
			if err := o.err(); s > 30 && (err == nil || strings.Contains(err.Error(), "unavailable since") != (s > 70) && (s < 60 || s > 70)) {
				t.Fatalf("after %d s Err = %v", s, err)
			}
			time.Sleep(time.Second)
		}
		if n := len(o.jobs[0].failures); n > mostJobFailures+len(good) {
			t.Errorf("%d failures are kept", n)
		}
	})
}
