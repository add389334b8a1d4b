package jobs_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	. "github.com/lockgen/lockgen/jobs"
)

// TestScheduler_processes kills a process in mid-run, stops another for longer than its session and its lock last, and
// restarts the server: no tick begins twice, and every tick has a record that says what became of it.
func TestScheduler_processes(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t, testenv.RedisConfig{AOF: true})
	p := newProcesses(t, server, server)
	const spec = "@every 1s"
	for range 3 {
		p.start(spec)
	}
	p.begin()
	killed := p.begin()
	p.kill(killed)
	p.start(spec)
	stopped := p.begin()
	p.signal(stopped, stopSignal)
	then := time.Now()
	for range 3 {
		if node := p.beginAfter(then); node == stopped || node == killed {
			t.Errorf("%s begins a run although it is stopped or dead", node)
		}
	}
	p.signal(stopped, continueSignal)
	p.begin()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.begin()
	}
	p.stop(p.running...)
	interrupted := 0
	var first, last time.Time
	known := make(map[time.Time]bool)
	records := p.records()
	for _, r := range records {
		if r.Outcome != OutcomeOK && !r.Started.IsZero() {
			interrupted++ // begun, and then its node or the server went
		}
		known[r.Tick] = true
		if first.IsZero() || r.Tick.Before(first) {
			first = r.Tick
		}
		if r.Tick.After(last) {
			last = r.Tick
		}
	}
	// The killed run, the stopped one, and those that were at work or about to be while the server was away.
	if interrupted < 1 || interrupted > 5 {
		t.Errorf("%d runs were interrupted, want the killed one and some more: %+v", interrupted, records)
	}
	left, err := p.store.InFlight(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range left {
		known[run.Run.Tick] = true // passed on by the last node to leave
	}
	for tick := first; tick.Before(last); tick = tick.Add(time.Second) {
		if !known[tick] {
			t.Errorf("tick %s has no record", tick)
		}
	}
}
