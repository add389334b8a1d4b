package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterStripes is into how many parts of equal size the slots of a cluster are divided. Its servers have ranges of
// slots, so hardly a part is on two of them.
const clusterStripes = 64

// stripe is what the locks of one part of the slots have in common: their server, as a rule. A call that goes to
// several servers of a cluster is as slow as the slowest of them, and each server has a clock of its own. Without a
// cluster there is one stripe.
type stripe struct {
	clock    serverClock
	acquires *combiner
	releases *combiner
	shared   *combiner // acquires by acquire_shared.lua
	leaving  *combiner // releases by release_shared.lua
}

func newStripe(s *session, batch int) *stripe {
	st := &stripe{clock: newServerClock()}
	releaseArgs := []any{s.retention.Milliseconds()}
	st.acquires = (&combiner{
		client: s.client, script: acquireScript, batch: batch, args: s.acquireArgs,
		latest: st.clock.Latest, calls: s.calls, quick: s.quick,
	}).init()
	st.acquires.Left = s.over
	st.releases = (&combiner{
		client: s.client, script: releaseScript, batch: batch, args: func(terms, int64) []any { return releaseArgs },
		latest: st.clock.Latest, calls: s.calls, quick: s.quick,
	}).init()
	// The scripts for shared locks take the six keys of one lock, so a call has one lease.
	st.shared = (&combiner{
		client: s.client, script: acquireSharedScript, batch: 1, args: s.acquireArgs, all: true, kinds: true,
		latest: st.clock.Latest, calls: s.calls, quick: s.quick,
	}).init()
	st.shared.Left = s.over
	leavingArgs := []any{s.retention.Milliseconds(), s.waiterID, 0}
	st.leaving = (&combiner{
		client: s.client, script: releaseSharedScript, batch: 1, args: func(terms, int64) []any { return leavingArgs },
		all: true, latest: st.clock.Latest, calls: s.calls, quick: s.quick,
	}).init()
	return st
}

func (s *session) newStripes() []*stripe {
	if !s.clustered {
		return []*stripe{newStripe(s, combineBatch)}
	}
	stripes := make([]*stripe, clusterStripes)
	for i := range stripes {
		stripes[i] = newStripe(s, 1)
	}
	return stripes
}

// stripe returns that of a lock.
func (s *session) stripe(keys lockKeys) *stripe {
	if len(s.stripes) == 1 {
		return s.stripes[0]
	}
	return s.stripes[slotOfKey(keys.lock)*len(s.stripes)/clusterSlots]
}

// forgetClocks is for connections to what may be other servers.
func (s *session) forgetClocks() {
	for _, st := range s.stripes {
		st.clock.Forget()
	}
}

// clockKnown asks the server of a lock for its time, if no answer has told that yet.
func (s *session) clockKnown(ctx, limit context.Context, keys lockKeys) error {
	clock := &s.stripe(keys).clock
	if clock.Known() {
		return nil
	}
	return clock.known(ctx, limit, s.calls, func(ctx context.Context) (time.Time, error) {
		return serverTime(ctx, s.client, keys.lock)
	})
}

// serverTime asks the server that has a key.
func serverTime(ctx context.Context, client redis.UniversalClient, key string) (time.Time, error) {
	if cluster, ok := client.(*redis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return time.Time{}, err
		}
		return master.Time(ctx).Result()
	}
	return client.Time(ctx).Result()
}
