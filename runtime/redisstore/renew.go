package redisstore

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// renewChunk is how many leases one script renews: enough to make the call's own cost small, few enough that other
// clients of the server do not notice. In a cluster each script stays within one slot, so it is 1 there.
const renewChunk = 100

// Renew implements lockrt.Session, with all chunks in one round trip.
func (s *session) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	size := renewChunk
	if s.clustered {
		size = 1
	}
	var calls []call
	for at := 0; at < len(renewals); at += size {
		calls = append(calls, s.renewCall(renewals[at:min(at+size, len(renewals))]))
	}
	errs := make([]error, 0, len(renewals))
	for i, cmd := range renewScript.pipeline(ctx, s.client, calls) {
		n := len(calls[i].keys) / 2
		renewed, err := ints(cmd, n)
		for j := range n {
			switch {
			case err != nil:
				errs = append(errs, withContext(ctx, err))
			case renewed[j] == 0:
				errs = append(errs, lockrt.ErrLost)
			default:
				errs = append(errs, nil)
			}
		}
	}
	return errs
}

func (s *session) renewCall(renewals []lockrt.Renewal) call {
	c := call{args: []any{s.retention.Milliseconds()}}
	for _, r := range renewals {
		keys := s.space.keys(r.Key)
		c.keys = append(c.keys, keys.lock, keys.floor)
		c.args = append(c.args, r.ID, millis(r.TTL))
	}
	return c
}
