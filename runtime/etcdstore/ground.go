package etcdstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// ground is what every request of a session for a lock is built on. A request that was built on another ground than the
// present one refuses itself.
type ground struct {
	generation int64 // the revision of the session's key; 0: there is none
	base       int64 // what is added to a revision to make an epoch
}

// baseText is the value of the key that has the base. Revisions begin anew in another cluster.
type baseText struct {
	Cluster string `json:"cluster"`
	Base    int64  `json:"base"` // µs since 1970 when it was written
}

// epoch is that of the grant of a contender that was made at a revision.
func (g ground) epoch(e entry, rev int64) uint64 { return uint64(g.base + e.epoch(rev)) }

// guard is the condition of a request for a lock. Whoever changes the base ends all generations.
func (s *session) guard(g ground) etcd.Cmp {
	return changedAt(s.space.generation(s.id), g.generation)
}

// endOf ends the generation of a ground, and none that has come after it: the request may be late.
func (s *session) endOf(g ground) etcd.Op {
	return etcd.OpTxn([]etcd.Cmp{s.guard(g)}, []etcd.Op{etcd.OpDelete(s.space.generation(s.id))}, nil)
}

// makeOnce makes a class or a generation, unless it is there, one at a time. That goes on when ctx ends: if the servers are
// late, each caller whose time is over would leave less of it to the next one, and none would have what all wait for.
//
// A full database refuses all of them: those who have waited since before a refused try began have their answer in it.
// Each asking for itself, one after the other, a crowd would not hear in time why it is refused.
func (s *session) makeOnce(ctx context.Context, there func() bool, do func(context.Context) error) error {
	from := time.Now()
	select {
	case s.preparing <- struct{}{}:
	case <-ctx.Done():
		return s.unsentNow(ctx)
	}
	if refused := s.refused; there() || refused != nil && s.refusedAt.After(from) {
		defer func() { <-s.preparing }()
		if there() {
			return nil
		}
		return refused
	}
	made := func(ctx context.Context) error {
		defer func() { <-s.preparing }()
		began := time.Now()
		err := do(ctx)
		if isFull(err) {
			s.refused, s.refusedAt = err, began
		}
		return err
	}
	if !s.gate.Enter() { // the session closes: nobody comes after this one
		return made(ctx)
	}
	done := make(chan error, 1)
	s.calls.Start(func() {
		defer s.gate.Leave()
		limited, cancel := bounded(s.ctx)
		defer cancel()
		done <- made(limited)
	})
	select {
	case err := <-done:
		if err != nil && s.ctx.Err() != nil {
			return lockrt.ErrClosed
		}
		return err
	case <-ctx.Done():
		return s.unsentNow(ctx)
	}
}

// lifeTime is for how long etcd remembers the session's own key after its last sign of life.
const lifeTime = 20 * time.Second

// prepare returns the session's ground, a new one if stale is the present one.
func (s *session) prepare(ctx context.Context, stale ground) (_ ground, err error) {
	if g := s.standing(); g.generation != 0 && g != stale {
		return g, nil
	}
	if err := s.examine(ctx); err != nil {
		return ground{}, err
	}
	found := s.store.examined.Load()
	life, err := s.classOf(ctx, ownKey)
	if err != nil {
		return ground{}, err
	}
	defer s.leave(life)
	stands := func() bool {
		g := s.standing()
		return g.generation != 0 && g != stale
	}
	for {
		err := s.makeOnce(ctx, stands, func(ctx context.Context) error {
			return s.begin(ctx, found, life)
		})
		if g := s.standing(); err != nil || g.generation != 0 && g != stale {
			return g, err
		}
	}
}

// examine has the servers examined before the first use of the store.
func (s *session) examine(ctx context.Context) error {
	examined := func() bool { return s.store.examined.Load() != nil }
	if examined() {
		return nil
	}
	err := s.makeOnce(ctx, examined, func(ctx context.Context) error {
		_, err := s.store.ready(ctx)
		return err
	})
	if over := ctx.Err(); over != nil && isUnsent(err) {
		return fmt.Errorf("the servers are still asked for their version: %w", over)
	}
	return err
}

// begin lays a new ground.
func (s *session) begin(ctx context.Context, found *findings, life *class) error {
	g, err := s.lay(ctx, life)
	if err != nil {
		if isNoLease(err) {
			s.lose(life, err)
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ground = g
	s.begun.Do(func() {
		found.log(s.Logger)
		close(s.used)
	})
	return nil
}

// forsake makes sure that no request is built on a ground again whose generation was deleted.
func (s *session) forsake(g ground) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ground == g {
		s.ground = ground{}
	}
}

func (s *session) standing() ground {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ground
}

// known returns what the fences of locks are made of, for those who only look at locks. It writes nothing.
func (s *session) known(ctx context.Context) (ground, error) {
	if g := s.standing(); g.generation != 0 {
		return g, nil
	}
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.base())
	})
	if err != nil || len(r.Kvs) == 0 {
		return ground{}, err
	}
	was, err := s.parseBase(r.Kvs[0])
	return ground{base: was.Base}, err
}

// parseBase returns a base of which the revisions before it are taken off: fences begin with the clock, however long the
// cluster has lived.
func (s *session) parseBase(kv *mvccpb.KeyValue) (was baseText, err error) {
	if err := json.Unmarshal(kv.Value, &was); err != nil {
		return was, refusal("the key %q has %q, which no lock store has written", s.space.base(), kv.Value)
	}
	was.Base -= 2 * kv.ModRevision
	return was, nil
}

// lay writes a new generation, and the base if there is none, or if it comes from another cluster.
func (s *session) lay(ctx context.Context, life *class) (ground, error) {
	base, own := s.space.base(), s.space.generation(s.id)
	before := int64(0) // the generation that it follows: a try that comes late follows none
	stale := s.standing().generation
	for range 5 {
		r, _, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
			return s.client.Txn(ctx).If(changedAt(own, before)).
				Then(etcd.OpPut(own, s.node, etcd.WithLease(life.id)), etcd.OpGet(base)).
				Else(etcd.OpGet(own), etcd.OpGet(base)).Commit()
		})
		if err != nil {
			return ground{}, err
		}
		generation := r.Header.Revision
		if !r.Succeeded {
			kvs := r.Responses[0].GetResponseRange().Kvs
			if before = 0; len(kvs) > 0 {
				before = kvs[0].ModRevision
			}
			if before == 0 || before == stale || etcd.LeaseID(kvs[0].Lease) != life.id {
				continue
			}
			generation = before // of a try that had no answer: no request was built on it
		}
		before = 0 // layBase ends it
		cluster := strconv.FormatUint(r.Header.ClusterId, 16)
		condition := createdAt(base, 0)
		if kvs := r.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
			was, err := s.parseBase(kvs[0])
			if err != nil {
				return ground{}, err
			}
			if was.Cluster == cluster {
				return ground{generation: generation, base: was.Base}, nil
			}
			s.Logger.Warn("the locks in etcd come from another cluster, with other revisions; fences go on from the clock")
			condition = changedAt(base, kvs[0].ModRevision)
		}
		if err := s.layBase(ctx, condition, cluster); err != nil {
			return ground{}, err
		}
	}
	return ground{}, fmt.Errorf("%w (%q)", errMoved, base)
}

// layBase writes the base, unless somebody else was faster. It ends the generations of all sessions, which have another
// one.
func (s *session) layBase(ctx context.Context, condition etcd.Cmp, cluster string) error {
	text, err := json.Marshal(baseText{Cluster: cluster, Base: time.Now().UnixMicro()})
	if err != nil {
		return err
	}
	_, _, err = rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(condition).
			Then(etcd.OpPut(s.space.base(), string(text)), etcd.OpDelete(s.space.generation(""), etcd.WithPrefix())).Commit()
	})
	return err
}
