package redisstore

import (
	"context"
	"slices"

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
		leases[i] = lockrt.HeldLease{Key: r.Key, ID: r.ID, Mode: r.Mode, Permits: r.Permits}
	}
	retention := s.retention.Milliseconds()
	return s.perLease(ctx, leases, question{
		script: renewScript, first: []any{retention},
		shared: renewSharedScript, sharedFirst: []any{retention, s.waiterID},
		part: func(i int, shared bool) call {
			keys := s.space.keys(renewals[i].Key)
			c := call{Keys: []string{keys.lock, keys.floor}, Args: []any{renewals[i].ID, millis(renewals[i].TTL)}}
			if shared {
				c.Keys = append(c.Keys, keys.holders(), keys.held())
			}
			return c
		},
	})
}

// question is what is asked about many leases, by a script that answers for each: 1 it has its lock or a share of it, 0
// it does not, 2 it was broken, 3 the lock is shared and the other script has to be asked.
type question struct {
	script, shared     *script
	first, sharedFirst []any                         // arguments before those of the leases
	part               func(i int, shared bool) call // the keys and arguments of one lease
}

// perLease asks about leases.
func (s *session) perLease(ctx context.Context, leases []lockrt.HeldLease, q question) []error {
	p := &perLease{session: s, ctx: ctx, question: q, leases: leases}
	p.errs, p.sharing = make([]error, len(leases)), make([]bool, len(leases))
	for i, l := range leases {
		p.sharing[i] = kindOf(l.Mode, l.Permits) != ""
	}
	call, cancel := bounded(ctx)
	defer cancel()
	all := make([]int, len(leases))
	for i := range all {
		all[i] = i
	}
	refused := p.together(call, p.chunks(all))
	var alone [][]int
	for _, i := range slices.Concat(refused...) {
		alone = append(alone, []int{i})
	}
	p.together(call, alone)
	p.together(call, p.chunks(p.elsewhere)) // these leases were downgraded meanwhile
	return p.errs
}

type perLease struct {
	*session
	ctx context.Context // the caller's
	question
	leases    []lockrt.HeldLease
	sharing   []bool // the lease needs the script for shared locks
	elsewhere []int  // leases whose answer was answerElsewhere
	errs      []error
}

// chunks says which leases go into one script, by their indexes: a hundred after the other, and in a cluster only those
// whose locks are in the same slot. The order, nearest deadline first, is kept.
func (p *perLease) chunks(some []int) [][]int {
	type kind struct {
		slot   int
		shared bool
	}
	return group(some, renewChunk, func(i int) kind { return kind{p.slot(p.leases[i].Key), p.sharing[i]} })
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
			switch {
			case err != nil:
				p.errs[i] = explain(p.ctx, err)
			case answers[j] == answerElsewhere:
				p.sharing[i], p.elsewhere = true, append(p.elsewhere, i)
			default:
				p.errs[i] = p.settle(p.leases[i], answers[j])
			}
		}
	}
	return refused
}

func (p *perLease) call(chunk []int) call {
	shared := p.sharing[chunk[0]]
	c := call{Args: slices.Clone(p.first)}
	if shared {
		c = call{Script: p.shared, Args: slices.Clone(p.sharedFirst)}
	}
	for _, i := range chunk {
		part := p.part(i, shared)
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
		s.brokenLease(lease.ID, s.space.keys(lease.Key).of(lease.Mode, lease.Permits), errBroken)
	default:
		s.leftovers.Unwanted(lease.ID)
	}
	return lockrt.ErrLost
}
