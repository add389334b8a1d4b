package waits_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgen/lockgen/runtime/internal/waits"
)

func TestQuestion_Ask_oneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q waits.Question[int]
		asked := 0
		ask := func() {
			q.Ask(t.Context(), func(f func()) { go f() }, func(context.Context) int {
				asked++
				time.Sleep(time.Second)
				return asked
			})
		}
		if q.Answer != nil || q.Silent() != 0 {
			t.Error("a question is under way that nobody has asked")
		}
		ask()
		ask()
		ask()
		synctest.Wait()
		time.Sleep(time.Second / 2)
		if got := q.Silent(); got != time.Second/2 {
			t.Errorf("the question is without an answer for %s", got)
		}
		if got := <-q.Answer; got != 1 {
			t.Errorf("the first answer is that of question %d", got)
		}
		if !q.Answered() || q.Answer != nil || q.Silent() != 0 {
			t.Error("the waiter does not hear that it is to ask again")
		}
		ask()
		<-q.Answer
		if q.Answered() || asked != 2 {
			t.Errorf("after the last of %d questions it is to ask again", asked)
		}
	})
}

func TestQuestion_Settle_waitsForTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q waits.Question[error]
		q.Settle() // there is none
		over := false
		q.Ask(t.Context(), func(f func()) { go f() }, func(ctx context.Context) error {
			<-ctx.Done()
			over = true
			return ctx.Err()
		})
		q.Settle()
		if !over || q.Answer != nil {
			t.Error("the question goes on")
		}
		q.Settle()
	})
}
