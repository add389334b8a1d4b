package etcdstore

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"
)

// Who holds the lock follows from the order of the contenders alone: the oldest one, beside a reader all readers that
// follow it, and beside a permit all permits that follow it while fewer than their own number are before them. Whoever
// is let in stays so, since others only leave before it and come behind it. What does not follow from the order is the
// epoch of readers and the slot of permits. Those are written when a contender is let in, and the one before it must
// have them then.

// admitBatch is how many contenders are let in at a time.
const admitBatch = 100

// admission is a contender that is let in.
type admission struct {
	was *mvccpb.KeyValue
	e   entry
}

// admissions returns the first that waits, and those behind it that are let in with it. The first of these contenders
// is the one of the request. before is the one before it, and heads are the oldest, at least as many as it has permits.
// There are none if before waits itself, or has a lock that cannot be shared.
func admissions(before *mvccpb.KeyValue, heads, queued []*mvccpb.KeyValue) (in []admission) {
	first := entryOf(queued[0])
	epoch := first.epoch(queued[0].CreateRevision)
	if before != nil {
		e := entryOf(before)
		if !e.In || !e.besides(first) {
			return nil
		}
		epoch = e.epoch(before.CreateRevision)
	}
	taken := make(slots)
	for _, kv := range heads {
		if kv.CreateRevision < queued[0].CreateRevision {
			taken[entryOf(kv).Slot] = true
		}
	}
	for _, kv := range queued {
		e := entryOf(kv)
		if e.In || !e.besides(first) || e.Permits > 0 && len(taken) >= e.Permits {
			break
		}
		if e.In = true; e.Read {
			e.Epoch = epoch
		} else {
			e.Slot = taken.take()
		}
		in = append(in, admission{kv, e})
	}
	return in
}

// admit writes admissions, the first of which is that of the contender of an answer, as many as go into one transaction:
// the next ones let themselves in. It reports false if one of them has changed since it was read.
func (s *session) admit(ctx context.Context, a *answer, in []admission) (bool, error) {
	in = in[:s.fit(len(in), func(i int) int { return 2*len(in[i].was.Key) + len(in[i].was.Value) })]
	conditions, puts := make([]etcd.Cmp, len(in)), make([]etcd.Op, len(in))
	for i, one := range in {
		key := string(one.was.Key)
		conditions[i] = changedAt(key, one.was.ModRevision)
		puts[i] = etcd.OpPut(key, one.e.text(), etcd.WithIgnoreLease())
	}
	r, _, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(conditions...).Then(puts...).Commit()
	})
	if s.fewer(len(in), err) {
		return s.admit(ctx, a, in)
	}
	if err != nil || !r.Succeeded {
		return false, err
	}
	a.rev = r.Header.Revision
	a.mine.Value, a.mine.ModRevision = []byte(in[0].e.text()), a.rev
	return true, nil
}
