package redisstore

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// renewChunk is how many leases one script renews: enough to make the call's own cost small, few enough that other
// clients of the server do not notice.
const renewChunk = 100

// Renew implements lockrt.Session, with all scripts in one round trip; in a cluster in one for each node, which the
// client makes at the same time.
func (s *session) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	errs := make([]error, len(renewals))
	var alone [][]int
	for _, failed := range s.renewTogether(ctx, renewals, s.renewChunks(renewals), errs) {
		for _, i := range failed {
			alone = append(alone, []int{i})
		}
	}
	if len(alone) > 0 {
		s.renewTogether(ctx, renewals, alone, errs)
	}
	return errs
}

// renewChunks says which renewals go into one script, by their indexes: a hundred after the other, and in a cluster
// only those whose locks are in the same slot. The order, nearest deadline first, is kept.
func (s *session) renewChunks(renewals []lockrt.Renewal) [][]int {
	all := make([]int, len(renewals))
	for i := range all {
		all[i] = i
	}
	return group(all, renewChunk, func(i int) int {
		if !s.clustered {
			return 0
		}
		return slotOf(renewals[i].Key)
	})
}

// renewTogether fills errs. It returns the chunks of several leases that the server refused: one lock's key may be in
// the way of all.
func (s *session) renewTogether(
	ctx context.Context, renewals []lockrt.Renewal, chunks [][]int, errs []error,
) (refused [][]int) {
	calls := make([]call, len(chunks))
	for at, chunk := range chunks {
		calls[at] = s.renewCall(renewals, chunk)
	}
	for at, cmd := range renewScript.pipeline(ctx, s.client, calls) {
		chunk := chunks[at]
		renewed, err := ints(cmd, len(chunk))
		if len(chunk) > 1 && isReply(err) && !retryable(err) {
			refused = append(refused, chunk)
		}
		for j, i := range chunk {
			switch {
			case err != nil:
				errs[i] = withContext(ctx, err)
			case renewed[j] == 0:
				errs[i] = lockrt.ErrLost
			default:
				errs[i] = nil
			}
		}
	}
	return refused
}

func (s *session) renewCall(renewals []lockrt.Renewal, chunk []int) call {
	c := call{args: []any{s.retention.Milliseconds()}}
	for _, i := range chunk {
		r := renewals[i]
		keys := s.space.keys(r.Key)
		c.keys = append(c.keys, keys.lock, keys.floor)
		c.args = append(c.args, r.ID, millis(r.TTL))
	}
	return c
}
