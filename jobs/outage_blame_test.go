package jobs_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
	jobmem "github.com/lockgen/lockgen/jobs/memstore"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// When the store fails in a blame, and for how long. What comes after the first two times shows that all is well again.
const (
	blameFrom  = 55 * time.Second
	blameUntil = blameFrom + 4*time.Minute
	blameEnd   = blameUntil + time.Minute
)

const (
	eachSecond  = "* * * * * *"
	each5       = "*/5 * * * * *"
	each10      = "*/10 * * * * *"
	eachMinute  = "0 * * * * *"
	eachOther   = "0 */2 * * * *"
	eachOther30 = "30 */2 * * * *"
)

// blame is a store that fails in calls of one kind for jobs, and what Err and the log are to say of it.
type blame struct {
	call    string // Claim, Start, Finish, Heartbeat or Lock
	bad     []string
	good    []string // schedules; no good ones: the store fails for all
	pattern pattern
	misfire Misfire
	nodes   int // 0: one

	wrong   time.Duration // how long a node may blame nobody or the wrong one; negative: some nodes may not be asked
	changes int           // how often a node may change its mind
	lines   int           // that the log may have of the store
}

// A pattern tells whether the n-th call for a job fails, and when.
type pattern struct {
	name  string
	fails func(at time.Duration, n int) bool
}

var always = pattern{"always", func(time.Duration, int) bool { return true }}

// blinks fails for a time of each period.
func blinks(fails, of, behind time.Duration) pattern {
	return pattern{fmt.Sprintf("%s of %s +%s", fails, of, behind), func(at time.Duration, _ int) bool {
		return (at+of-behind%of)%of < fails
	}}
}

// allBut lets each n-th call work.
func allBut(nth int) pattern {
	return pattern{fmt.Sprintf("but each %d.", nth), func(_ time.Duration, n int) bool { return n%nth != nth-1 }}
}

// blamed is what Err and the logs have said.
type blamed struct {
	wrong   time.Duration
	first   time.Duration // after how long the right one was blamed first
	after   time.Duration // how long somebody was blamed when nothing failed any more
	changes int
	lines   int // of the store
	ofJobs  int // lines of single jobs
}

func (b blame) String() string {
	rates := func(specs []string) string {
		names := map[string]string{eachSecond: "1s", each5: "5s", each10: "10s", eachMinute: "1m",
			eachOther: "2m", eachOther30: "2m"}
		var all []string
		for i, spec := range specs {
			if i == 5 {
				return fmt.Sprintf("%s ...%d", strings.Join(all, " "), len(specs))
			}
			all = append(all, names[spec])
		}
		return strings.Join(all, " ")
	}
	return fmt.Sprintf("%-9s bad %-20s good %-16s %-14s %-4s %d nodes", b.call, rates(b.bad), rates(b.good), b.pattern.name,
		cmp.Or(b.misfire, MisfireOnce), max(b.nodes, 1))
}

// lockBlame is a store of locks that fails for keys of jobs.
type lockBlame struct {
	lockrt.Store
	fails func(key string) error
}

func (s *lockBlame) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	session, err := s.Store.Open(cfg)
	return &lockBlameSession{session, s.fails}, err
}

type lockBlameSession struct {
	lockrt.Session
	fails func(key string) error
}

func (s *lockBlameSession) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if err := s.fails(req.Key); err != nil {
		return lockrt.Grant{}, err
	}
	return s.Session.Acquire(ctx, req)
}

// blameStore asks for each call with the job that it is for, "" if it is for none.
type blameStore struct {
	fussy
}

func (s *blameStore) Heartbeat(ctx context.Context, b Heartbeat) (HeartbeatReply, error) {
	if err := s.minds("Heartbeat", "bad", ""); err != nil {
		return HeartbeatReply{}, err
	}
	return s.Store.Heartbeat(ctx, b)
}

func (b blame) run(t *testing.T) (of blamed) {
	testsync.Bubble(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		calls := make(map[string]int)
		minds := func(call, job, _ string) error {
			mu.Lock()
			defer mu.Unlock()
			at := time.Since(began)
			if call != b.call || !strings.Contains(job, "bad") || at < blameFrom || at >= blameUntil {
				return nil
			}
			n := calls[job]
			if calls[job]++; b.pattern.fails(at-blameFrom, n) {
				return errFussy
			}
			return nil
		}
		store := &blameStore{fussy{jobmem.New(), minds}}
		lockStore := &lockBlame{memstore.New(), func(key string) error { return minds("Lock", key, "") }}
		logs, nodes := make([]testsync.Log, max(b.nodes, 1)), []*Scheduler(nil)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for i := range logs {
			locks, err := lockrt.New(lockStore, lockrt.Config{Node: fmt.Sprint("n", i), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer locks.Close(context.Background())
			n, err := New(locks, Config{Store: store, Logger: logs[i].Logger()})
			if err != nil {
				t.Fatal(err)
			}
			for kind, specs := range map[string][]string{"bad": b.bad, "good": b.good} {
				for i, spec := range specs {
					err := n.Add(Job{Name: fmt.Sprint(kind, i), Spec: spec, Misfire: b.misfire, Run: jobstest.Sleep(0)})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			nodes = append(nodes, n)
			running.Go(func() { _ = n.Run(ctx) })
		}
		want := "job"
		if len(b.good) == 0 || b.call == "Heartbeat" {
			want = "store"
		}
		last := make([]string, len(logs))
		const step = 100 * time.Millisecond
		for at := time.Since(began); at < blameEnd; at = time.Since(began) {
			for i, n := range nodes {
				said := whoIsBlamed(n.Err())
				if last[i] != said && at > step {
					of.changes++
				}
				last[i] = said
				failing := at >= blameFrom && at < blameUntil
				switch {
				case failing && said == want && of.first == 0:
					of.first = at - blameFrom
				case failing && said != want, at < blameFrom && said != "":
					of.wrong += step
				case at >= blameUntil && said != "":
					of.after += step
				}
			}
			time.Sleep(step)
		}
		cancel()
		running.Wait()
		for i := range logs {
			text := logs[i].String()
			of.lines += strings.Count(text, "unavailable;") + strings.Count(text, "available again")
			of.ofJobs += strings.Count(text, "for this job")
		}
	})
	return of
}

// whoIsBlamed is "" for nobody.
func whoIsBlamed(err error) string {
	switch {
	case err == nil:
		return ""
	case strings.Contains(err.Error(), "unavailable since"):
		return "store"
	}
	return "job"
}

// many are schedules.
func many(n int, spec string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = spec
	}
	return all
}

// The table is printed with -v. With the race detector it is an eighth of it.
func TestScheduler_Err_blames(t *testing.T) {
	t.Parallel()
	table := []blame{
		{call: "Heartbeat", pattern: always, wrong: 10 * time.Second, changes: 2, lines: 2},
		{call: "Heartbeat", pattern: allBut(2), wrong: 20 * time.Second, changes: 4, lines: 4},
		{call: "Heartbeat", pattern: blinks(3*time.Second, 8*time.Second, 5*time.Second), wrong: 20 * time.Second, changes: 4, lines: 4},
	}
	mixed := []string{eachSecond, each10, eachMinute}
	blink := blinks(2*time.Second, 8*time.Second, 5*time.Second)
	for _, call := range []string{"Claim", "Start", "Finish", "Lock"} {
		// The store fails for all: it is to blame, once.
		for _, bad := range [][]string{
			{eachSecond}, many(2, eachSecond), many(12, eachSecond), {eachSecond, eachMinute}, mixed, append(many(2, eachMinute), mixed...),
			{each5, each5, eachMinute, eachOther, eachOther30},
		} {
			table = append(table, blame{call: call, bad: bad, pattern: always, misfire: MisfireSkip, wrong: 10 * time.Second, changes: 2, lines: 2})
		}
		table = append(table,
			blame{call: call, bad: mixed, pattern: always, wrong: 10 * time.Second, changes: 2, lines: 2},
			blame{call: call, bad: []string{eachMinute}, pattern: always, misfire: MisfireSkip, wrong: 10 * time.Second, changes: 2, lines: 2},
			blame{call: call, bad: many(4, eachSecond), pattern: always, nodes: 3, wrong: -1, changes: 6, lines: 6})
		// It comes and goes. The first time it seems to be over; those of several rates have to meet it together.
		for _, p := range []pattern{blink, blinks(2*time.Second, 8*time.Second, 5900*time.Millisecond), blinks(5*time.Second, 14*time.Second, 0)} {
			for _, bad := range [][]string{many(1, eachSecond), many(2, eachSecond), many(5, eachSecond), mixed} {
				table = append(table, blame{call: call, bad: bad, pattern: p, wrong: 26 * time.Second, changes: 4, lines: 4})
			}
		}
		// It fails for some jobs while it serves others. Where those are few it may seem to be the store first.
		for _, of := range []struct {
			bad, good []string
			pattern   pattern
		}{
			{many(1, eachSecond), many(1, eachSecond), always},
			{many(1, eachSecond), many(1, each5), always},
			{many(1, each5), many(1, eachSecond), always},
			{many(5, eachSecond), many(2, eachSecond), always},
			{many(10, each5), many(1, eachSecond), always},
			{many(4, eachSecond), many(1, each5), always},
			{mixed, many(2, eachSecond), always},
			{many(1, eachSecond), many(1, eachSecond), allBut(3)},
			{many(4, eachSecond), many(1, each5), allBut(3)},
			{many(1, eachSecond), many(1, eachSecond), blink},
			{many(5, eachSecond), many(1, eachSecond), blink},
			{many(4, eachSecond), many(1, each5), blink},
			{mixed, many(2, eachSecond), blink},
		} {
			table = append(table, blame{call: call, bad: of.bad, good: of.good, pattern: of.pattern, wrong: 15 * time.Second, changes: 3, lines: 2})
		}
		table = append(table,
			blame{call: call, bad: many(1, eachSecond), good: many(1, each10), pattern: always, wrong: 20 * time.Second, changes: 3, lines: 2},
			blame{call: call, bad: many(1, each5), good: many(1, each5), pattern: always, nodes: 5, wrong: -1, changes: 10})
	}
	for i, b := range table {
		if i%rounds(1, 8) != 0 {
			continue
		}
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			of := b.run(t)
			fault := ""
			if b.wrong >= 0 && of.wrong > b.wrong || of.after > 31*time.Second*time.Duration(max(b.nodes, 1)) || of.changes > b.changes || of.lines > b.lines {
				fault = fmt.Sprintf("want %s, %d and %d at most", b.wrong, b.changes, b.lines)
				t.Errorf("%s", fault)
			}
			t.Logf("| %s | wrong %6s, told after %6s, still %5s behind | %3d changes | log %3d of the store, %3d of jobs | %s", b, of.wrong, of.first, of.after, of.changes,
				of.lines, of.ofJobs, fault)
		})
	}
}
