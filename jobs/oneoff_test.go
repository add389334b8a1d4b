package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// letters counts the one-off jobs that ran, by ID.
type letters struct {
	mu  sync.Mutex
	got map[string][]string
}

func (l *letters) handler(fail bool) Handler {
	return Handler{Name: "mail", Retries: 2, Run: func(ctx context.Context, id string, payload []byte) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.got[id] = append(l.got[id], fmt.Sprint(string(payload), " at ", time.Now().Format("15:04:05")))
		if fail && len(l.got[id]) == 1 {
			return errors.New("mailbox full")
		}
		return nil
	}}
}

// TestScheduler_At puts one-off jobs from several nodes, twice each: each runs once, at its time, through a restart of
// all nodes, and is not run again when it is put once more.
func TestScheduler_At(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		l := &letters{got: make(map[string][]string)}
		up := func() []*jobstest.Node {
			var nodes []*jobstest.Node
			for range 3 {
				n := c.Node(Config{}, 0)
				if err := n.AddHandler(l.handler(false)); err != nil {
					t.Fatal(err)
				}
				n.Start()
				nodes = append(nodes, n)
			}
			return nodes
		}
		begun := time.Now()
		put := func(n *jobstest.Node, id string, after time.Duration) {
			if err := n.At(ctx, "mail", id, begun.Add(after), []byte("to "+id)); err != nil {
				t.Fatal(err)
			}
		}
		nodes := up()
		time.Sleep(time.Second)
		for _, n := range nodes {
			put(n, "soon", 90*time.Second)
			put(n, "late", 10*time.Minute)
			put(n, "never", 15*time.Minute)
			put(n, "past", -time.Hour)
		}
		if err := nodes[1].Withdraw(ctx, "never"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		for _, n := range nodes {
			n.Stop()
		}
		nodes = up()
		time.Sleep(20 * time.Minute)
		put(nodes[0], "soon", 25*time.Minute)
		time.Sleep(10 * time.Minute)
		want := map[string][]string{"soon": {"to soon at 00:01:30"}, "late": {"to late at 00:10:00"},
			"past": {"to past at 00:00:01"}}
		if got := fmt.Sprint(l.got); got != fmt.Sprint(want) {
			t.Errorf("ran %s, want %v", got, want)
		}
		for _, r := range c.Recorded("one-off:mail") {
			if r.Outcome != OutcomeOK || r.Trigger != TriggerOneOff || string(r.Payload) != "to "+r.OneOff || r.Fence == 0 {
				t.Errorf("record %+v, want it ok, with its ID and payload, under a lock", r)
			}
		}
		for _, n := range nodes {
			n.Stop()
		}
	})
}

// TestScheduler_At_retries also checks that a handler may be missing for a while, and that nobody's time is owed.
func TestScheduler_At_retries(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		ctx := context.Background()
		l := &letters{got: make(map[string][]string)}
		n := c.Node(Config{}, 0)
		n.Start()
		if err := n.At(ctx, "mail", "x", time.Now().Add(10*time.Second), []byte("hi")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if waiting, err := n.Waiting(ctx, 10); err != nil || len(waiting) != 1 || waiting[0].ID != "x" {
			t.Errorf("Waiting = %+v, %v; want x", waiting, err)
		}
		if err := n.AddHandler(l.handler(true)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		c.Stop()
		if runs := c.Finished("one-off:mail"); jobstest.Outcomes(runs) != "error ok" || runs[1].OneOff != "x" ||
			string(runs[1].Payload) != "hi" {
			t.Errorf("runs %+v, want an error and then a success with the payload", runs)
		}
	})
}
