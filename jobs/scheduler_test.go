package jobs_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	jobredis "github.com/lockgen/lockgen/jobs/redisstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

func TestScheduler_Add_refuses(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		run := jobstest.Sleep(0)
		n.MustAdd(Job{Name: "taken", Spec: "@daily", Run: run})
		for want, j := range map[string]Job{
			"it has no Name":            {Spec: "@daily", Run: run},
			"its Name has 201 bytes":    {Name: strings.Repeat("x", 201), Spec: "@daily", Run: run},
			"holds a control character": {Name: "a\nb", Spec: "@daily", Run: run},
			"a format character":        {Name: "a\u202eb", Spec: "@daily", Run: run},
			`"a\u200bb"`:                {Name: "a\u200bb", Spec: "@daily", Run: run},
			"is not UTF-8":              {Name: "\xff", Spec: "@daily", Run: run},
			"Lock.TTL is 1ns":           {Name: "a", Spec: "@daily", Run: run, Lock: lockrt.Options{TTL: 1}},
			"Wait -1ns":                 {Name: "a", Spec: "@daily", Run: run, Lock: lockrt.Options{Wait: -1}},
			"with a zero byte":          {Name: "a", Spec: "@daily", Run: run, Keys: []string{"k\x00"}},
			"MinHold 2s is longer than MaxHold 1s": {
				Name: "a", Spec: "@daily", Run: run,
				Lock: lockrt.Options{MinHold: 2 * time.Second, MaxHold: time.Second},
			},
			"it has no Run":                        {Name: "a", Spec: "@daily"},
			"it is empty: write five fields":       {Name: "a", Run: run},
			`minute field "61": 61 is above 59`:    {Name: "a", Spec: "61 * * * *", Run: run},
			`zone "Mars"`:                          {Name: "a", Spec: "@daily", TZ: "Mars", Run: run},
			"it has a Schedule and also Spec":      {Name: "a", Spec: "@daily", Schedule: once{}, Run: run},
			`Misfire is "never": use one of skip`:  {Name: "a", Spec: "@daily", Misfire: "never", Run: run},
			`Overlap is "maybe": use one of skip`:  {Name: "a", Spec: "@daily", Overlap: "maybe", Run: run},
			"none may be negative":                 {Name: "a", Spec: "@daily", Retries: -1, Run: run},
			"Keys holds an empty key":              {Name: "a", Spec: "@daily", Keys: []string{""}, Run: run},
			"the scheduler has a job of that name": {Name: "taken", Spec: "@hourly", Run: run},
		} {
			if err := n.Add(j); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "add job") {
				t.Errorf("Add(%+v) = %v, want an error with %q", j, err, want)
			}
		}
		if err := n.Add(Job{}); err == nil || !strings.Contains(err.Error(), "no Name") ||
			!strings.Contains(err.Error(), "no Run") {
			t.Errorf("Add of nothing = %v, want all problems at once", err)
		}
		if jobs := n.Jobs(); len(jobs) != 1 || jobs[0].Job.Name != "taken" || jobs[0].Job.Keys[0] != "job:taken" ||
			jobs[0].Next.IsZero() {
			t.Errorf("Jobs = %+v, want the one that was good, with its defaults", jobs)
		}
		n.Start()
		c.Stop()
	})
}

func TestScheduler_Add_duringRun(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		n.Start()
		time.Sleep(10 * time.Second)
		n.MustAdd(Job{Name: "j", Spec: "* * * * *", Run: jobstest.Sleep(0)})
		time.Sleep(time.Minute)
		if err := n.Run(context.Background()); err == nil {
			t.Error("a second Run succeeded")
		}
		c.Stop()
		if got := jobstest.Outcomes(c.Finished("j")); got != "ok" {
			t.Errorf("outcomes %q, want ok", got)
		}
	})
}

// TestScheduler_location checks the zone of specs without TZ.
func TestScheduler_location(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		tokyo, err := time.LoadLocation("Asia/Tokyo")
		if err != nil {
			t.Skip("no zone files: ", err)
		}
		n := c.Node(Config{Location: tokyo, Heartbeat: time.Minute}, 0)
		n.MustAdd(Job{Name: "j", Spec: "0 3 * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(24 * time.Hour)
		c.Stop()
		if runs := c.Finished("j"); jobstest.Outcomes(runs) != "ok" ||
			runs[0].Tick.Format(time.RFC3339) != "2000-01-01T18:00:00Z" {
			t.Errorf("runs %+v, want one at 03:00 in Tokyo", runs)
		}
	})
}

// TestScheduler_jitter checks that all nodes agree on it, and that it spreads.
func TestScheduler_jitter(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		from := time.Now()
		for range 3 {
			n := c.Node(Config{}, 0)
			n.MustAdd(Job{Name: "j", Spec: "* * * * *", Jitter: 30 * time.Second, Grace: time.Second,
				Run: jobstest.Sleep(0)})
			n.Start()
		}
		time.Sleep(time.Hour + 40*time.Second)
		to := time.Now().Add(-30 * time.Second)
		c.Stop()
		c.ExpectOnce("j", "* * * * *", from, to)
		var least, most time.Duration = time.Hour, 0
		for _, r := range c.Finished("j") {
			delay := r.Started.Sub(r.Tick)
			least, most = min(least, delay), max(most, delay)
		}
		if least > 5*time.Second || most < 25*time.Second || most > 31*time.Second {
			t.Errorf("60 ticks were delayed by %s to %s, want them spread over 30s", least, most)
		}
	})
}

func TestNew_storeDefaults(t *testing.T) {
	t.Parallel()
	if _, err := New(nil, Config{}); err == nil {
		t.Error("New without a Locker succeeded")
	}
	open := func(store lockrt.Store, namespace string) *Scheduler {
		t.Helper()
		locks, err := lockrt.New(store, lockrt.Config{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { locks.Close(context.Background()) })
		s, err := New(locks, Config{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	mem := memstore.New()
	a, b, other := open(mem, "x"), open(mem, "x"), open(mem, "y")
	if StoreOf(a) != StoreOf(b) || StoreOf(a) == StoreOf(other) {
		t.Error("schedulers must share a store if they share locks and namespace, else not")
	}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	if _, ok := StoreOf(open(redisstore.New(client, redisstore.Config{}), "x")).(*jobredis.Store); !ok {
		t.Error("beside locks in Redis, jobs must be kept there too")
	}
	locks, err := lockrt.New(unknownStore{mem}, lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close(context.Background())
	if _, err := New(locks, Config{}); err == nil || !strings.Contains(err.Error(), "set Config.Store") {
		t.Errorf("New beside an unknown store = %v, want an error that says what to set", err)
	}
	if _, err := New(locks, Config{Store: jobmem.New(), History: -1}); err == nil {
		t.Error("New with a negative History succeeded")
	}
	for _, heartbeat := range []time.Duration{-1, time.Millisecond, time.Hour} {
		if _, err := New(locks, Config{Store: jobmem.New(), Heartbeat: heartbeat}); err == nil ||
			!strings.Contains(err.Error(), "Config.Heartbeat") {
			t.Errorf("New with a Heartbeat of %s = %v, want an error", heartbeat, err)
		}
	}
}

type unknownStore struct{ lockrt.Store }

// TestNew_names refuses names that are too long or not what they seem to be, before they are in any record.
func TestNew_names(t *testing.T) {
	t.Parallel()
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		locks := c.Node(Config{}, 0).Locker()
		for _, odd := range []string{strings.Repeat("x", 201), "x\u202ey", "a\x00b", "\xff"} {
			for field, cfg := range map[string]Config{
				"Config.Node": {Node: odd}, "Config.Program": {Program: odd}, "Config.Version": {Version: odd},
			} {
				cfg.Store = c.Store
				if _, err := New(locks, cfg); err == nil || !strings.Contains(err.Error(), field) ||
					len(err.Error()) > 400 {
					t.Errorf("New with the %s %.20q = %v, want an error that names it", field, odd, err)
				}
			}
		}
		if _, err := New(locks, Config{Store: c.Store, Node: "café 1", Version: strings.Repeat("x", 200)}); err != nil {
			t.Error(err)
		}
		c.Stop()
	})
}
