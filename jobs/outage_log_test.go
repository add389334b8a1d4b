package jobs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
)

// unpaired returns what is wrong with the begins and ends in a log of an outage: each has its other one.
func unpaired(log string) (wrong []string) {
	open := map[string]bool{}
	for line := range strings.Lines(log) {
		what, job, asked := "", field(line, "job="), field(line, "asked=")
		begins := false
		switch {
		case strings.Contains(line, "unavailable; trying again"):
			what, begins = "the store", true
		case strings.Contains(line, "available again"):
			what = "the store"
		case strings.Contains(line, "fails for this job"):
			what, begins = asked+" of "+job, true
		case strings.Contains(line, "does not fail for this job"):
			what = asked + " of " + job
		default:
			continue
		}
		if open[what] == begins {
			wrong = append(wrong, "twice: "+line)
		}
		open[what] = begins
	}
	for what, begun := range open {
		if begun {
			wrong = append(wrong, "no end of "+what)
		}
	}
	return wrong
}

func field(line, name string) string {
	_, after, _ := strings.Cut(line, name)
	value, _, _ := strings.Cut(after, " ")
	return strings.TrimSpace(value)
}

// A job that was told of is then one of many in an outage of the store, and is served after that.
func TestOutage_logsTheEndOfAJobThatWasInAnOutage(t *testing.T) {
	testsync.Bubble(t, func(t *testing.T) {
		var log testsync.Log
		o, refused := newOutage(log.Logger(), "store", 1), errors.New("refused")
		for s := range 200 {
			if s < 20 {
				o.heardEach(0, claiming, []verdict{{job: "j1", done: true}})
				o.heardEach(0, starting, []verdict{{job: "j0", err: refused}})
			} else {
				for i := range 3 {
					v := verdict{job: fmt.Sprint("j", i), done: s >= 60 && (s != 65 || i > 0)} // it fails once more
					if !v.done {
						v.err = refused
					}
					o.heardEach(0, starting, []verdict{v})
				}
			}
			time.Sleep(time.Second)
		}
		if !strings.Contains(log.String(), "fails for this job") || !strings.Contains(log.String(), "unavailable") {
			t.Errorf("the job and the outage are not both told of:\n%s", log.String())
		}
		if wrong := unpaired(log.String()); len(wrong) > 0 {
			t.Errorf("%q\n%s", wrong, log.String())
		}
		_, end, _ := strings.Cut(log.String(), "does not fail for this job")
		if after := field(end, "after="); after != "1m5s" {
			t.Errorf("the job has failed for %s, want 1m5s\n%s", after, log.String())
		}
	})
}

// Under random troubles of jobs and of the whole store each begin in the log has its end.
func TestOutage_logsEachEndOnce(t *testing.T) {
	for seed := range uint64(60) {
		testsync.Bubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			var log testsync.Log
			o := newOutage(log.Logger(), "store", 1)
			periods := make([]int, 1+r.IntN(5))
			for i := range periods {
				periods[i] = []int{1, 1, 5, 10, 60}[r.IntN(5)]
			}
			const trouble, all = 600, 1000 // seconds
			var fails map[string]int       // in how many of a hundred cases
			for s := range all {
				if s%40 == 0 {
					fails = map[string]int{}
					for range r.IntN(4) {
						of := fmt.Sprint(r.IntN(len(periods)))
						if r.IntN(4) == 0 {
							of = "all"
						}
						what := []purpose{claiming, starting, recording}[r.IntN(3)]
						fails[what.String()+of] = []int{30, 60, 100, 100}[r.IntN(4)]
					}
				}
				for i, period := range periods {
					if s%period != 0 {
						continue
					}
					for _, what := range []purpose{claiming, starting, recording} {
						v := verdict{job: fmt.Sprint("j", i), done: true}
						if s < trouble && r.IntN(100) < fails[what.String()+fmt.Sprint(i)]+fails[what.String()+"all"] {
							v.done, v.err = false, []error{errors.New("refused"), errors.New("refused"), errors.New("full"), ErrLocked}[r.IntN(4)]
						}
						o.heardEach(0, what, []verdict{v})
						if !v.done {
							break
						}
					}
				}
				o.heard(0, beating, nil)
				time.Sleep(time.Second)
			}
			if wrong := unpaired(log.String()); len(wrong) > 0 {
				t.Errorf("seed %d: %q\n%s", seed, wrong, log.String())
			}
			if err := o.err(); err != nil {
				t.Errorf("seed %d: long after the trouble: %v", seed, err)
			}
		})
	}
}
