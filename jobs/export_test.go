package jobs

import (
	"slices"
	"time"
)

// What tests in package jobs_test need to see of the inside. They cannot be in this package, since package jobstest
// imports it.

var (
	ErrTakenOver  = errTakenOver
	MaxWaiting    = maxWaiting
	MaxRecoveries = maxRecoveries
	MaxAuthor     = maxAuthor
	MaxReason     = maxReason
	MaxErrorText  = maxErrorText
)

// Deafen makes a scheduler go by its local clock, whatever the store says.
func (s *Scheduler) Deafen() {
	for _, p := range s.parts {
		p.clock.deaf = true
	}
}

// LiveRuns returns the number of runs of a job that this scheduler looks after.
func (s *Scheduler) LiveRuns(job string) int { return s.live.countOf(job) }

// SetMonotonicClock replaces the clock that estimates run on between answers.
func (s *Scheduler) SetMonotonicClock(local func() time.Time) {
	for _, p := range s.parts {
		p.clock.local = local
	}
}

// SetWallClock replaces the clock that sleeps of the machine are noticed by.
func (s *Scheduler) SetWallClock(wall func() time.Time) {
	for _, p := range s.parts {
		p.clock.wall = wall
	}
}

// ClockStepped reports whether a sleep of the machine was noticed and not yet dealt with.
func (s *Scheduler) ClockStepped() bool {
	return slices.ContainsFunc(s.parts, func(p *part) bool { return p.clock.stepped() })
}

// Bounded is what a scheduler makes of its store.
func Bounded(s Store) Store { return newBoundedStore(s) }

// StoreOf returns what Config.Store became.
func StoreOf(s *Scheduler) Store { return s.cfg.Store.(boundedStore).Store }
