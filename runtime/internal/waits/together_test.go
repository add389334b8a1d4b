package waits_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/waits"
)

// reads is what a Together is told: how often its key was read before.
type reads struct {
	waits.Together[int]
	n    atomic.Int64
	fail error
}

func newReads(keep bool) *reads {
	r := new(reads)
	r.Start = func(f func()) { go f() }
	r.Keep, r.Kept = func(int) bool { return keep }, 10*time.Second
	r.Read = func(string) (int, error) {
		n := int(r.n.Add(1))
		time.Sleep(time.Second)
		return n, r.fail
	}
	return r
}

func TestTogether_Ask_sharesWhatIsNotOlderThanTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReads(false)
		var all sync.WaitGroup
		ask := func(want int) {
			since := time.Now().Add(-1)
			all.Go(func() {
				got, asked, err := r.Ask(t.Context(), "k", since)
				if err != nil || got != want || asked.Before(since) {
					t.Errorf("answer %d of %s, %v; want %d, of %s or later", got, asked, err, want, since)
				}
			})
		}
		for range 100 { // all at the same time
			ask(1)
		}
		time.Sleep(time.Second / 2)
		for range 100 { // while the first question is under way
			ask(2)
		}
		all.Wait()
		ask(3)
		all.Wait()
		if _, ok := r.Last("k"); ok || r.n.Load() != 3 {
			t.Errorf("%d reads, and an answer is kept (%t); want 3, and none", r.n.Load(), ok)
		}
	})
}

func TestTogether_Ask_olderAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReads(true)
		ask := func(age time.Duration, want int) {
			t.Helper()
			if got, _, err := r.Ask(t.Context(), "k", time.Now().Add(-age)); err != nil || got != want {
				t.Errorf("an answer of the last %s: %d, %v; want %d", age, got, err, want)
			}
		}
		ask(0, 1)
		time.Sleep(4 * time.Second)
		ask(6*time.Second, 1)
		ask(3*time.Second, 2)
		if got, ok := r.Last("k"); got != 2 || !ok {
			t.Errorf("the last answer is %d (%t), want 2", got, ok)
		}
		time.Sleep(11 * time.Second)
		if _, ok := r.Last("k"); ok {
			t.Error("an answer is kept for too long")
		}
		if n := waits.KeysOf(&r.Together); n > 0 {
			t.Errorf("%d keys are known that nobody asks for any more", n)
		}
	})
}

func TestTogether_Ask_errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReads(true)
		r.fail = errors.New("no")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, _, err := r.Ask(ctx, "k", time.Now()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who leaves: %v", err)
		}
		if _, _, err := r.Ask(t.Context(), "k", time.Now().Add(-time.Second)); !errors.Is(err, r.fail) {
			t.Errorf("the one after that, who shares the question: %v, want %v", err, r.fail)
		}
		if _, ok := r.Last("k"); ok || r.n.Load() != 1 {
			t.Errorf("%d reads, and an error is kept (%t); want one, and none", r.n.Load(), ok)
		}
	})
}

// In a bubble the clock stands still while questions begin.
func TestTogether_Ask_atTheSameTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReads(true)
		go func() { _, _, _ = r.Ask(t.Context(), "k", time.Now()) }()
		synctest.Wait() // it is asked now, before what the next one wants to know of
		if got, _, err := r.Ask(t.Context(), "k", time.Now()); err != nil || got != 2 {
			t.Errorf("answer %d, %v; want that of a question of its own", got, err)
		}
	})
}

// A question may take long. Who comes meanwhile waits for half a second of that at the most.
func TestTogether_Ask_slow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReads(true)
		r.Read = func(string) (int, error) {
			n := int(r.n.Add(1))
			time.Sleep(3 * time.Second)
			return n, nil
		}
		var all sync.WaitGroup
		for i := range 8 {
			time.Sleep(300 * time.Millisecond)
			all.Go(func() {
				began := time.Now()
				if _, asked, err := r.Ask(t.Context(), "k", began); err != nil || asked.Before(began) {
					t.Errorf("caller %d: %v, asked %s before that", i, err, began.Sub(asked))
				}
				if took := time.Since(began); took > 3700*time.Millisecond {
					t.Errorf("caller %d waits for %s", i, took)
				}
			})
		}
		all.Wait()
		if got, ok := r.Last("k"); got != int(r.n.Load()) || !ok {
			t.Errorf("the last answer is %d (%t), want %d", got, ok, r.n.Load())
		}
	})
}
