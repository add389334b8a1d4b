package etcdstore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
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
	leases := make([]lockrt.HeldLease, len(renewals))
	r := &renewing{s: s, began: began, ttls: make([]time.Duration, len(renewals))}
	for i, renewal := range renewals {
		leases[i], r.ttls[i] = lockrt.HeldLease{Key: renewal.Key, ID: renewal.ID}, renewal.TTL
	}
	r.begin(leases)
	r.move(limited)
	for r.cover(limited) {
		if err := r.awaitRehousing(limited); err != nil {
			r.fail(r.open(), err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, renewal := range renewals {
		h := s.leases[renewal.ID]
		switch {
		case s.presumed[renewal.ID] != nil:
			r.errs[i] = errPresumed
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

// renewing is one call of Renew or Check.
type renewing struct {
	s     *session
	began time.Time
	ttls  []time.Duration // of the renewals
	held  []held          // as far as is known
	errs  []error
	done  []bool // it is renewed
	aged  bool   // those are to be moved whose classes are aged, too
}

// begin finds the leases.
func (r *renewing) begin(leases []lockrt.HeldLease) {
	r.held, r.errs, r.done = make([]held, len(leases)), make([]error, len(leases)), make([]bool, len(leases))
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for i, l := range leases {
		if h := r.s.leases[l.ID]; h != nil && h.key == l.Key {
			r.held[i] = *h
		} else {
			r.errs[i] = r.s.missingLocked(l.ID)
		}
	}
}

// open are the leases of which there is something to do.
func (r *renewing) open() (all []int) {
	for i, err := range r.errs {
		if err == nil && !r.done[i] {
			all = append(all, i)
		}
	}
	return all
}

// cover reads the contenders, and waits meanwhile for what signs of life their classes lack to last as long as the renewed
// leases. It reports true if etcd has changed its leader, and some have to be moved first.
func (r *renewing) cover(ctx context.Context) (aged bool) {
	_, ends := r.ends()
	for c, end := range ends {
		if !r.s.lasts(c, end) {
			pace.Wake(c.wanted)
		}
	}
	r.read(ctx)
	others, ends := r.ends()
	covered := make(map[*class]error)
	for c, end := range ends {
		covered[c] = r.s.awaitLife(ctx, c, end)
	}
	for _, i := range r.open() {
		err := covered[r.held[i].class]
		for _, c := range others[i] {
			if !isLost(covered[c]) { // what is lost is no place to move to
				err = cmp.Or(err, covered[c])
			}
		}
		if errors.Is(err, errAged) {
			aged = true
		} else {
			r.errs[i], r.done[i] = err, true
		}
	}
	return aged
}

// fail is for leases for which nothing more is done, for a reason.
func (r *renewing) fail(all []int, err error) {
	for _, i := range all {
		if r.errs[i] == nil {
			r.errs[i] = err
		}
	}
}

// ends returns until when the classes have to last, and to which other ones a contender may move meanwhile.
func (r *renewing) ends() (others map[int][]*class, ends map[*class]time.Time) {
	others, ends = make(map[int][]*class), make(map[*class]time.Time)
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, i := range r.open() {
		h := r.s.leases[r.held[i].id]
		if h == nil {
			r.errs[i] = r.s.missingLocked(r.held[i].id)
			continue
		}
		end := r.began.Add(r.ttls[i])
		need := func(c *class) {
			if ends[c].Before(end) {
				ends[c] = end
			}
		}
		r.held[i].class = h.class
		need(h.class)
		if all := h.othersLocked(); len(all) > 0 {
			others[i] = all
			for _, c := range all {
				need(c)
			}
		}
	}
	return others, ends
}

// read looks which of the contenders are there.
func (r *renewing) read(ctx context.Context) {
	open := r.open()
	for len(open) > 0 {
		n := r.s.fit(len(open), func(i int) int { return len(r.held[open[i]].me) })
		_, err := r.readChunk(ctx, open[:n])
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

// readChunk returns the contenders as they are.
func (r *renewing) readChunk(ctx context.Context, chunk []int) (found []*mvccpb.KeyValue, err error) {
	s := r.s
	found = make([]*mvccpb.KeyValue, len(chunk))
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
		return nil, err
	}
	s.saw(said.Header)
	for j, i := range chunk {
		h := r.held[i]
		kvs := said.Responses[j].GetResponseRange().Kvs
		if len(kvs) == 0 || kvs[0].CreateRevision != h.rev {
			r.errs[i] = lockrt.ErrLost
			s.loseGone(h.id, h.key)
			continue
		}
		found[j] = kvs[0]
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
	return found, nil
}

// Check implements lockrt.Checker.
func (s *session) Check(ctx context.Context, leases []lockrt.HeldLease) []error {
	began := time.Now()
	limited, cancel := bounded(etcd.WithRequireLeader(ctx)) // as Renew does
	defer cancel()
	r := &renewing{s: s}
	r.begin(leases)
	r.read(limited)
	for i, err := range r.errs {
		r.errs[i] = explain(ctx, began, err)
	}
	return r.errs
}
