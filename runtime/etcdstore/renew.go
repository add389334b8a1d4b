package etcdstore

import (
	"context"
	"errors"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Renew implements lockrt.Session. The contenders are read, for a sign of life alone does not say that they are there.
// Their classes are kept alive all the time: mostly the last sign of life is young enough, and the read is all.
func (s *session) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	began := time.Now()
	// A server that is cut off from the others says so at once. Else each step could lose an attempt to it, and they have
	// one limit together.
	limited, cancel := bounded(etcd.WithRequireLeader(ctx))
	defer cancel()
	r := &renewing{s: s, errs: make([]error, len(renewals)), held: make([]held, len(renewals))}
	r.begin(limited, renewals)
	r.cover(limited, began, renewals)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, renewal := range renewals {
		h := s.leases[renewal.ID]
		switch {
		case r.errs[i] != nil:
			r.errs[i] = explain(ctx, began, r.errs[i])
		case h == nil: // it has run out meanwhile, and is being deleted
			r.errs[i] = lockrt.ErrLost
		case began.Add(renewal.TTL).After(h.until):
			h.until = began.Add(renewal.TTL)
			s.ends.Set(h, h.until)
		}
	}
	return r.errs
}

// renewing is one call of Renew.
type renewing struct {
	s    *session
	errs []error
	held []held // as they were when the call began
}

// begin finds the leases, and moves those that are to last longer to another class.
func (r *renewing) begin(ctx context.Context, renewals []lockrt.Renewal) {
	s := r.s
	s.mu.Lock()
	for i, renewal := range renewals {
		if h := s.leases[renewal.ID]; h != nil && h.key == renewal.Key {
			r.held[i] = *h
		} else {
			r.errs[i] = lockrt.ErrLost
		}
	}
	s.mu.Unlock()
	for i, renewal := range renewals {
		if r.errs[i] == nil && renewal.TTL.Truncate(time.Microsecond) > r.held[i].ttl { // in which entries have it
			r.held[i].class, r.errs[i] = s.lengthen(ctx, r.held[i], renewal.TTL)
		}
	}
}

// cover reads the contenders, and waits meanwhile for what signs of life their classes lack to last as long as the renewed
// leases.
func (r *renewing) cover(ctx context.Context, began time.Time, renewals []lockrt.Renewal) {
	for c, end := range r.ends(began, renewals) {
		if !r.s.lasts(c, end) {
			pace.Wake(c.wanted)
		}
	}
	r.read(ctx)
	failed := make(map[*class]error)
	for c, end := range r.ends(began, renewals) {
		failed[c] = r.s.awaitLife(ctx, c, end)
	}
	for i, h := range r.held {
		if r.errs[i] == nil {
			r.errs[i] = failed[h.class]
		}
	}
}

// ends is until when the classes have to last.
func (r *renewing) ends(began time.Time, renewals []lockrt.Renewal) map[*class]time.Time {
	ends := make(map[*class]time.Time)
	for i, h := range r.held {
		if end := began.Add(renewals[i].TTL); r.errs[i] == nil && ends[h.class].Before(end) {
			ends[h.class] = end
		}
	}
	return ends
}

// read looks which of the contenders are there.
func (r *renewing) read(ctx context.Context) {
	var open []int
	for i, err := range r.errs {
		if err == nil {
			open = append(open, i)
		}
	}
	for len(open) > 0 {
		n := r.s.fit(len(open), func(i int) int { return len(r.held[open[i]].me) })
		err := r.readChunk(ctx, open[:n])
		if r.s.fewer(n, err) {
			continue
		}
		if err != nil {
			for _, i := range open { // that the store is silent is not found out for each part anew
				r.errs[i] = err
			}
			return
		}
		open = open[n:]
	}
}

func (r *renewing) readChunk(ctx context.Context, chunk []int) error {
	s := r.s
	ops := make([]etcd.Op, len(chunk))
	for j, i := range chunk {
		ops[j] = etcd.OpGet(r.held[i].me)
	}
	said, err := hedged(ctx, s, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return attempt(ctx, func(ctx context.Context) (*etcd.TxnResponse, error) {
			return s.client.Txn(ctx).Then(ops...).Commit()
		})
	})
	if err != nil {
		return err
	}
	for j, i := range chunk {
		h := r.held[i]
		kvs := said.Responses[j].GetResponseRange().Kvs
		if len(kvs) == 0 || kvs[0].CreateRevision != h.rev {
			r.errs[i] = lockrt.ErrLost
			s.drop(h.id)
			s.unsure(h.key, h.id)
			continue
		}
		switch e := entryOf(kvs[0]); {
		case e.Broken != "":
			s.loseBroken(h.id, h.key, errors.New(e.Broken), "")
			r.errs[i] = lockrt.ErrLost
		case e.Kept:
			r.errs[i] = lockrt.ErrLost
		default:
			r.held[i].class, r.errs[i] = s.settleMove(&r.held[i], move{etcd.LeaseID(kvs[0].Lease), kvs[0].ModRevision, e.ttl()})
		}
	}
	return nil
}

// Check implements lockrt.Checker.
func (s *session) Check(ctx context.Context, leases []lockrt.HeldLease) []error {
	began := time.Now()
	limited, cancel := bounded(etcd.WithRequireLeader(ctx)) // as Renew does
	defer cancel()
	r := &renewing{s: s, errs: make([]error, len(leases)), held: make([]held, len(leases))}
	s.mu.Lock()
	for i, l := range leases {
		if h := s.leases[l.ID]; h != nil && h.key == l.Key {
			r.held[i] = *h
		} else {
			r.errs[i] = lockrt.ErrLost
		}
	}
	s.mu.Unlock()
	r.read(limited)
	for i, err := range r.errs {
		r.errs[i] = explain(ctx, began, err)
	}
	return r.errs
}
