// Package storetest is the conformance suite of stores of jobs: the comments of jobs.Store, each as a test. A store of
// your own passes it like this:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) jobs.Store { return mystore.New(…) })
//	}
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Run tests the store that open returns, an empty one at each call.
func Run(t *testing.T, open func(t *testing.T) jobs.Store) {
	for name, test := range map[string]func(*suite){
		"register gives a new job the present as its cursor":        testRegister,
		"register numbers definitions":                              testVersions,
		"register lets the newest timing of the living be in force": testInForce,
		"register lifts cursors":                                    testLift,
		"register owes what was due before a cursor was made up":    testOweBefore,
		"register refuses another program's job":                    testRefused,
		"register keeps no cursor of handlers":                      testRegisterHandler,
		"claim in another epoch is stale":                           testClaimStale,
		"look changes nothing":                                      testLook,
		"claim moves the cursor once":                               testClaimOnce,
		"claim is won by one of many":                               testClaimRace,
		"claim refuses what is too early":                           testClaimEarly,
		"claim may be repeated":                                     testClaimRepeated,
		"claim records what is skipped":                             testClaimSkipped,
		"claim treats a batch one by one":                           testClaimBatch,
		"claim of an unknown job changes nothing":                   testClaimUnknown,
		"claim takes what is owed one after another":                testClaimOwed,
		"register knows what is owed":                               testRegisterOwed,
		"claim on demand leaves the cursor alone":                   testClaimManual,
		"claim that comes again undoes nothing":                     testClaimAgain,
		"claim on demand puts a run in flight once":                 testClaimManualAgain,
		"start notes the begin":                                     testStart,
		"start that comes late begins nothing":                      testStartLate,
		"finish records once":                                       testFinish,
		"finish passes on under the same ID":                        testFinishPassOn,
		"finish of an orphan waits for its owner's lease":           testFinishOrphan,
		"finish may be repeated":                                    testFinishRepeated,
		"finish that comes late undoes no begin":                    testFinishLate,
		"finish as lost holds for what is known":                    testFinishLostLate,
		"heartbeat keeps runs and tells of orphans":                 testHeartbeat,
		"heartbeat tells which one-off jobs wait no more":           testHeartbeatWaiting,
		"what is cancelled does not begin, and says so":             testCancelled,
		"heartbeat tells of all orphans in turn":                    testHeartbeatOrphans,
		"heartbeat tells of all one-off jobs in turn":               testHeartbeatDue,
		"heartbeat does not seem lost where it is known":            testStamp,
		"restore puts back what is newer":                           testRestore,
		"retire puts a timing out of force":                         testRetire,
		"heartbeat tells of notices":                                testNotices,
		"leave makes orphans":                                       testLeave,
		"nodes are listed":                                          testNodes,
		"in flight are the runs of all jobs":                        testInFlight,
		"runs are capped, latest first":                             testRunsCapped,
		"failures outlast the records of their jobs":                testFailures,
		"skips for one reason share a record":                       testSkipsShare,
		"skips of one reason are counted by all nodes":              testSkipsShareRace,
		"list pages through the jobs":                               testList,
		"list goes back":                                            testListBack,
		"list knows states":                                         testListStates,
		"list searches":                                             testListSearch,
		"latest and most missed come first":                         testRankings,
		"pause stops ticks, resume forgives them":                   testPause,
		"pause that comes late undoes no resume":                    testPauseLate,
		"one-off jobs are put once":                                 testPut,
		"one-off jobs are claimed once":                             testOneOff,
		"names keep apart":                                          testNames,
		"a context that has ended changes nothing":                  testEndedContext,
	} {
		t.Run(name, func(t *testing.T) { test(&suite{T: t, store: open(t), ctx: context.Background()}) })
	}
}

// suite is one test with its store.
type suite struct {
	*testing.T
	store jobs.Store
	ctx   context.Context
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) register(names ...string) {
	s.Helper()
	_, err := s.store.Register(s.ctx, offer("s1", names...))
	s.must(err)
}

// offer is the registration of jobs with the same daily spec.
func offer(session string, names ...string) jobs.Registration {
	r := jobs.Registration{Session: session, Grace: time.Minute}
	for _, name := range names {
		d := jobs.Definition{Job: name, Timing: jobs.Timing{Spec: "0 3 * * *", Zone: "UTC"}}
		r.Offers = append(r.Offers, jobs.Offer{Definition: d})
	}
	return r
}

func (s *suite) look(job string) jobs.JobView {
	s.Helper()
	v, err := s.store.Look(s.ctx, []string{job})
	s.must(err)
	if len(v.Jobs) != 1 {
		s.Fatalf("Look of one job told of %d", len(v.Jobs))
	}
	return v.Jobs[0]
}

func (s *suite) now() time.Time {
	s.Helper()
	v, err := s.store.Look(s.ctx, nil)
	s.must(err)
	return v.Now
}

// claim makes one claim and checks its status.
func (s *suite) claim(c jobs.Claim, want jobs.ClaimStatus) jobs.Claimed {
	s.Helper()
	got := s.store.Claim(s.ctx, []jobs.Claim{c})
	if len(got) != 1 || got[0].Err != nil || got[0].Status != want {
		s.Fatalf("Claim = %+v, want status %d", got, want)
	}
	return got[0]
}

// next builds a claim of the tick 1 µs after the cursor, due already, by owner o1.
func (s *suite) next(job, unique string) jobs.Claim {
	s.Helper()
	cursor := s.look(job).Cursor
	if cursor.IsZero() {
		s.register(job)
		cursor = s.look(job).Cursor
	}
	tick := cursor.Add(time.Microsecond)
	return jobs.Claim{
		Job: job, Prev: cursor, Tick: tick, Due: cursor, Lease: time.Minute, Keep: 3,
		InFlight: pending(job, unique, "o1", tick),
	}
}

// pending is a run in flight. Its ID is made as schedulers make theirs.
func pending(job, unique, owner string, tick time.Time) *jobs.InFlight {
	return &jobs.InFlight{
		Owner: owner, Locker: "L",
		Run: jobs.Run{ID: id(job, unique), Job: job, Tick: tick, Node: "n1", Attempt: 1, Trigger: jobs.TriggerSchedule},
	}
}

func id(job, unique string) string { return job + "@" + unique }

func (s *suite) start(b jobs.Start) error {
	s.Helper()
	errs := s.store.Start(s.ctx, []jobs.Start{b})
	if len(errs) != 1 {
		s.Fatalf("Start of one run gave %d answers", len(errs))
	}
	return errs[0]
}

func (s *suite) finish(f jobs.Finish) error {
	s.Helper()
	errs := s.store.Finish(s.ctx, []jobs.Finish{f})
	if len(errs) != 1 {
		s.Fatalf("Finish of one run gave %d answers", len(errs))
	}
	return errs[0]
}

func (s *suite) runs(job string) []jobs.Run {
	s.Helper()
	runs, err := s.store.Runs(s.ctx, []string{job}, 100)
	s.must(err)
	return runs[0]
}

func (s *suite) heartbeat(session string, lease time.Duration) jobs.HeartbeatReply {
	s.Helper()
	p, err := s.store.Heartbeat(s.ctx, jobs.Heartbeat{
		Session: session, Node: jobs.Node{Name: "node-" + session, Session: session}, Lease: lease, Horizon: time.Minute,
	})
	s.must(err)
	return p
}
