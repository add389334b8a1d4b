package jobs_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// programs is a cluster of which two programs have a job "j" and a handler "h"; shop has them first.
type programs struct {
	*jobstest.Cluster

	mu  sync.Mutex
	ran []string // the programs whose work was called
}

func (p *programs) node(program string) *jobstest.Node {
	n := p.Node(Config{Program: program}, 0)
	work := func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ran = append(p.ran, program)
		return nil
	}
	n.MustAdd(Job{Name: "j", Spec: "0 3 * * *", Run: func(context.Context) error { return work() }})
	if err := n.AddHandler(Handler{Name: "h",
		Run: func(context.Context, string, []byte) error { return work() }}); err != nil {
		panic(err)
	}
	return n
}

// expect checks who has been called since the last time.
func (p *programs) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	time.Sleep(3 * time.Second)
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := strings.Join(p.ran, " "); got != strings.Join(want, " ") {
		t.Errorf("%s: called %q, want %q", when, got, want)
	}
	p.ran = nil
}

// TestScheduler_otherProgramsJob has a program that was refused a job be asked for it in all ways: it does not call its
// own work.
func TestScheduler_otherProgramsJob(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx, p := context.Background(), &programs{Cluster: c}
		shop := p.node("shop")
		shop.Start()
		time.Sleep(2 * time.Second)
		mail, asking := p.node("mail"), c.Node(Config{Program: "mail"}, 0) // asking has no jobs
		mail.Start()
		asking.Start()
		// mail has not heard yet that it is refused the handler
		if err := shop.At(ctx, "h", "early", time.Now(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := mail.RunNow(ctx, "j", "ada"); !errors.Is(err, ErrOtherProgram) ||
			!strings.Contains(err.Error(), `"shop"`) {
			t.Errorf("RunNow before it has heard that it is refused: %v", err)
		}
		p.expect(t, "a one-off job while another program starts", "shop")
		id, err := shop.RunNow(ctx, "j", "ada")
		if err != nil {
			t.Fatal(err)
		}
		p.expect(t, "RunNow by the program that has the job", "shop")
		if _, err := mail.RunNow(ctx, "j", "ada"); !errors.Is(err, ErrOtherProgram) {
			t.Errorf("RunNow: %v", err)
		}
		if _, err := mail.RunAgain(ctx, id, "ada"); !errors.Is(err, ErrOtherProgram) {
			t.Errorf("RunAgain: %v", err)
		}
		if err := mail.At(ctx, "h", "late", time.Now(), nil); !errors.Is(err, ErrOtherProgram) ||
			!strings.Contains(err.Error(), `handler "h"`) {
			t.Errorf("At: %v", err)
		}
		p.expect(t, "what the refused program asks for")
		if _, err := asking.RunNow(ctx, "j", "ada"); err != nil {
			t.Fatal(err)
		}
		p.expect(t, "RunNow from a scheduler that does not have the job", "shop")
		c.Stop()
	})
}

// TestScheduler_otherProgramTakesOver has the program that has a job die with runs in flight, when another one waits
// for the name: that one does not do their work.
func TestScheduler_otherProgramTakesOver(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx, p := context.Background(), &programs{Cluster: c}
		shop, asking := p.node("shop"), c.Node(Config{}, 0)
		shop.Start()
		asking.Start()
		time.Sleep(2 * time.Second)
		mail := p.node("mail")
		mail.Start()
		time.Sleep(2 * time.Second)
		shop.Crash()
		if _, err := asking.RunNow(ctx, "j", "ada"); err != nil { // for shop, as it seems alive
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		p.expect(t, "the run that was for the dead program")
		runs := c.Finished("j")
		if len(runs) != 1 || runs[0].Outcome != OutcomeSkipped || !strings.Contains(runs[0].Reason, `program "shop"`) ||
			!strings.Contains(runs[0].Reason, `"mail"`) || !runs[0].Started.IsZero() {
			t.Errorf("%+v, want one that is skipped and names both programs", runs)
		}
		if _, err := mail.RunNow(ctx, "j", "ada"); err != nil {
			t.Error(err)
		}
		p.expect(t, "RunNow by the program that has the job since", "mail")
		c.Stop()
	})
}
