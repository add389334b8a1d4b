package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestScheduler_RunAgain runs a failed tick once more from a scheduler that has no jobs: for the same tick, which is
// what the work sees, with its record beside the old one.
func TestScheduler_RunAgain(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		defer c.Stop()
		ctx := context.Background()
		broken, began := true, make(chan time.Time, 10)
		n := c.Node(Config{Heartbeat: time.Minute}, 0)
		n.MustAdd(Job{Name: "j", Spec: "0 3 * * *", Run: func(ctx context.Context) error {
			_, tick, _ := TickFromContext(ctx)
			began <- tick
			if broken {
				return errors.New("disk full")
			}
			return nil
		}})
		n.Start()
		time.Sleep(4 * time.Hour)
		failed := c.Finished("j")[0]
		if failed.Outcome != OutcomeError || len(began) != 1 {
			t.Fatalf("the run at 3:00 is %+v", failed)
		}
		broken = false
		onlooker := c.Node(Config{}, 0)
		id, err := onlooker.RunAgain(ctx, failed.ID, "ada")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // n hears of it by a heartbeat
		<-began
		if tick := <-began; !tick.Equal(failed.Tick) {
			t.Errorf("the work ran for %s, want %s", tick, failed.Tick)
		}
		again, err := onlooker.FindRun(ctx, id)
		if err != nil || again.Outcome != OutcomeOK || again.Trigger != TriggerManual || again.Author != "ada" ||
			again.Attempt != 1 ||
			!again.Tick.Equal(failed.Tick) || again.ID == failed.ID {
			t.Errorf("the new run is %+v, %v", again, err)
		}
		records, err := onlooker.RecentRuns(ctx, 10, "j", "none")
		if err != nil || len(records) != 2 || len(records[0]) != 2 || records[0][1].ID != failed.ID ||
			len(records[1]) != 0 {
			t.Errorf("RecentRuns is %+v, %v; want both runs, the new one first", records, err)
		}
		time.Sleep(24 * time.Hour)
		if ran := len(c.Finished("j")); ran != 3 {
			t.Errorf("%d runs after the next day, want 3: the schedule stays as it is", ran)
		}
	})
}

func TestScheduler_RunAgain_refuses(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		defer c.Stop()
		ctx := context.Background()
		n := c.Node(Config{}, 0)
		n.MustAdd(Job{Name: "long", Spec: "0 0 29 2 *", Run: jobstest.Sleep(time.Hour)})
		n.MustAdd(Job{Name: "often", Spec: "* * * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(2 * time.Second)
		running, err := n.RunNow(ctx, "long", "ada")
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Pause(ctx, "often", "ada", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if err := n.Resume(ctx, "often", "ada"); err != nil {
			t.Fatal(err)
		}
		skipped := c.Recorded("often")[0]
		if skipped.Ticks < 2 {
			t.Fatalf("the pause left %+v", skipped)
		}
		for id, want := range map[string]error{
			running: ErrNotAgain, skipped.ID: ErrNotAgain, "often@gone.1": ErrUnknownRun, "nonsense": ErrUnknownRun,
		} {
			if newID, err := n.RunAgain(ctx, id, "ada"); !errors.Is(err, want) || newID != "" {
				t.Errorf("%s again: %q, %v; want %v", id, newID, err, want)
			}
		}
	})
}

// A one-off job is run again with its ID and its payload.
func TestScheduler_RunAgain_once(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		defer c.Stop()
		ctx := context.Background()
		var got []string
		n := c.Node(Config{}, 0)
		err := n.AddHandler(Handler{Name: "mail", Run: func(_ context.Context, id string, payload []byte) error {
			got = append(got, fmt.Sprint(id, " ", string(payload)))
			return errors.New("mailbox full")
		}})
		if err != nil {
			t.Fatal(err)
		}
		n.Start()
		time.Sleep(2 * time.Second)
		if err := n.At(ctx, "mail", "welcome-1", time.Now().Add(10*time.Second), []byte("hello")); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		for _, r := range c.Finished("one-off:mail") {
			if _, err := n.RunAgain(ctx, r.ID, "ada"); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(got) != 2 || got[0] != "welcome-1 hello" || got[1] != got[0] {
			t.Errorf("the handler saw %q", got)
		}
	})
}
