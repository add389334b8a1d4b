package etcdstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/percent"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Break implements lockrt.Breaker. The mark and what the holder's process is told are written in one step. What is told
// goes with the lease of etcd that the lock has: the process may be dead.
func (s *session) Break(ctx context.Context, b lockrt.Breaking) error {
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	g, err := s.known(limited)
	if err != nil {
		return explain(ctx, began, err)
	}
	unanswered := false
	for {
		holder, err := s.named(limited, b, g)
		if err != nil {
			return explain(ctx, began, err)
		}
		if holder == nil {
			if unanswered {
				return nil
			}
			return lockrt.ErrNotHeld
		}
		done, doubt, err := s.breakHolder(limited, b, holder)
		if err != nil {
			return explain(ctx, began, err)
		}
		if done {
			return nil
		}
		unanswered = unanswered || doubt // it has changed since it was read
	}
}

// named returns the contender that is to be broken, nil if it does not hold the lock.
func (s *session) named(ctx context.Context, b lockrt.Breaking, g ground) (holder *mvccpb.KeyValue, err error) {
	if b.ID != "" {
		holder, err = s.holder(ctx, b.Key, b.ID)
	} else {
		holder, err = s.kept(ctx, b, g)
	}
	if holder == nil || g.epoch(entryOf(holder), holder.CreateRevision) != b.Fence.Epoch() {
		return nil, err
	}
	return holder, nil
}

// kept returns the contender that MinHold keeps, by the epoch of its grant.
func (s *session) kept(ctx context.Context, b lockrt.Breaking, g ground) (*mvccpb.KeyValue, error) {
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.lock(b.Key), etcd.WithPrefix())
	})
	if err != nil {
		return nil, err
	}
	for _, kv := range r.Kvs {
		if e := entryOf(kv); e.Kept && g.epoch(e, kv.CreateRevision) == b.Fence.Epoch() {
			return kv, nil
		}
	}
	return nil, nil
}

// breakHolder reports whether it has broken the lease, or found it broken. If not, it has changed since it was read.
func (s *session) breakHolder(
	ctx context.Context, b lockrt.Breaking, holder *mvccpb.KeyValue,
) (done, unanswered bool, err error) {
	me, e := string(holder.Key), entryOf(holder)
	var ops []etcd.Op
	switch {
	case e.Kept:
		ops = []etcd.Op{etcd.OpDelete(me)}
	case e.Broken != "" && !b.Force:
		return true, false, nil
	default:
		reason := shown(fmt.Sprintf("broken by %s: %s", s.node, b.Reason), maxReason)
		change := etcd.OpDelete(me)
		if !b.Force {
			e.Broken = reason
			change = etcd.OpPut(me, e.text(), etcd.WithIgnoreLease())
		}
		ops = []etcd.Op{change}
		if e.Session != "" {
			told := s.space.told(e.Session, b.ID)
			ops = append(ops, etcd.OpPut(told, toldText(b.Key, reason), etcd.WithLease(etcd.LeaseID(holder.Lease))))
		}
	}
	r, unanswered, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(changedAt(me, holder.ModRevision)).Then(ops...).Commit()
	})
	if isNoLease(err) { // the lock has gone with it
		return false, unanswered, nil
	}
	return err == nil && r.Succeeded, unanswered, err
}

// toldText is what a session is told of a broken lease.
func toldText(key, reason string) string { return escape(key) + " " + reason }

func toldOf(text string) (key, reason string) {
	escaped, reason, _ := strings.Cut(text, " ")
	key, err := percent.Unescape(escaped)
	if err != nil {
		return "", reason
	}
	return key, reason
}
