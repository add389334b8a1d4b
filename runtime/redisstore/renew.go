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
	leases := make([]lockrt.HeldLease, len(renewals))
	for i, r := range renewals {
		leases[i] = lockrt.HeldLease{Key: r.Key, ID: r.ID}
	}
	return s.perLease(ctx, renewScript, leases, func(i int) call {
		keys := s.space.keys(renewals[i].Key)
		return call{Keys: []string{keys.lock, keys.floor}, Args: []any{renewals[i].ID, millis(renewals[i].TTL)}}
	}, s.retention.Milliseconds())
}

// perLease runs a script that answers for each lease: 1 it holds its lock, 0 it does not, 2 it was broken. part is what
// the script gets for one of them, and first stands before the arguments of all.
func (s *session) perLease(
	ctx context.Context, script *script, leases []lockrt.HeldLease, part func(i int) call, first ...any,
) []error {
	p := &perLease{session: s, ctx: ctx, script: script, leases: leases, part: part, first: first}
	p.errs = make([]error, len(leases))
	call, cancel := bounded(ctx)
	defer cancel()
	var alone [][]int
	for _, refused := range p.together(call, p.chunks()) {
		for _, i := range refused {
			alone = append(alone, []int{i})
		}
	}
	p.together(call, alone)
	return p.errs
}

type perLease struct {
	*session
	ctx    context.Context // the caller's
	script *script
	leases []lockrt.HeldLease
	part   func(i int) call
	first  []any
	errs   []error
}

// chunks says which leases go into one script, by their indexes: a hundred after the other, and in a cluster only those
// whose locks are in the same slot. The order, nearest deadline first, is kept.
func (p *perLease) chunks() [][]int {
	all := make([]int, len(p.leases))
	for i := range all {
		all[i] = i
	}
	return group(all, renewChunk, func(i int) int { return p.slot(p.leases[i].Key) })
}

// slot is 0 for all locks that one script may work on.
func (s *session) slot(name string) int {
	if !s.clustered {
		return 0
	}
	return slotOf(name)
}

// together fills errs. It returns the chunks of several leases that the server refused: one lock's key may be in the
// way of all.
func (p *perLease) together(ctx context.Context, chunks [][]int) (refused [][]int) {
	all := make([]call, len(chunks))
	for at, chunk := range chunks {
		all[at] = p.call(chunk)
	}
	for at, cmd := range p.calls.pipeline(ctx, p.keeping(), p.script, all) {
		chunk := chunks[at]
		answers, err := ints(cmd, len(chunk))
		if len(chunk) > 1 && isReply(err) && !retryable(err) {
			refused = append(refused, chunk)
		}
		for j, i := range chunk {
			if err != nil {
				p.errs[i] = explain(p.ctx, err)
			} else {
				p.errs[i] = p.settle(p.leases[i], answers[j])
			}
		}
	}
	return refused
}

func (p *perLease) call(chunk []int) call {
	c := call{Args: append([]any(nil), p.first...)}
	for _, i := range chunk {
		part := p.part(i)
		c.Keys, c.Args = append(c.Keys, part.Keys...), append(c.Args, part.Args...)
	}
	return c
}

// settle takes the server's word on one lease.
func (s *session) settle(lease lockrt.HeldLease, answer int64) error {
	switch answer {
	case 1:
		return nil
	case 2:
		s.brokenLease(lease.ID, s.space.keys(lease.Key), errBroken)
	default:
		s.unwanted(lease.ID)
	}
	return lockrt.ErrLost
}
