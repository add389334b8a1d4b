package jobs

import (
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// What tests in package jobs_test need to see of the inside. They cannot be in this package, since package jobstest
// imports it.

var (
	ErrTakenOver  = errTakenOver
	MaxWaiting    = maxWaiting
	MaxRecoveries = maxRecoveries
	Retention     = retention
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
func (s *Scheduler) LiveRuns(job string) int { return s.liveRuns(job) }

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

// StoreOf returns what Config.Store became.
func StoreOf(s *Scheduler) Store { return s.cfg.Store }

// ClientOf returns the client of a store in Redis, nil for others.
func ClientOf(s Store) redis.UniversalClient {
	if r, ok := s.(*redisStore); ok {
		return r.client
	}
	return nil
}

// KeptFailures is how many failures a store keeps besides the records of the jobs.
const KeptFailures = keptFailures

// KeyOf returns a key of the shard that a job is in, in a store in Redis.
func KeyOf(s Store, job string) string { return s.(*redisStore).shards[shardOf(job)].cursors }

// NewMemoryStoreAt is NewMemoryStore with another clock.
func NewMemoryStoreAt(now func() time.Time) Store { return newMemoryStore(now) }

// NodesKeyOf returns the key of the list of nodes, in a store in Redis.
func NodesKeyOf(s Store) string { return s.(*redisStore).nodes }
