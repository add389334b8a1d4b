package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Downgrade implements lockrt.Downgrader. The contender stays where it is, and those behind it see it change. A new
// epoch is the odd one above that of the grant: those of grants are even.
func (s *session) Downgrade(ctx context.Context, d lockrt.Downgrading) (uint64, error) {
	began := time.Now()
	limited, cancel := bounded(ctx)
	defer cancel()
	for {
		epoch, done, err := s.downgrade(limited, d)
		if done || err != nil {
			return epoch, explain(ctx, began, err)
		}
	}
}

// downgrade reports false if the contender has changed since it was read.
func (s *session) downgrade(ctx context.Context, d lockrt.Downgrading) (epoch uint64, done bool, err error) {
	g, err := s.known(ctx)
	if err != nil {
		return 0, false, err
	}
	kv, err := s.holder(ctx, d.Key, d.ID)
	if err != nil {
		return 0, false, err
	}
	if kv == nil {
		return 0, false, lockrt.ErrLost
	}
	e := entryOf(kv)
	switch {
	case e.Broken != "":
		s.loseBroken(d.ID, d.Key, errors.New(e.Broken), "")
		return 0, false, lockrt.ErrLost
	case e.Permits > 0:
		return 0, false, fmt.Errorf("%w: the lease is that of a permit", lockrt.ErrOptions)
	case e.Read:
		return g.epoch(e, kv.CreateRevision), true, nil
	}
	e.Read, e.In = true, true
	if d.NewEpoch {
		e.Epoch = e.epoch(kv.CreateRevision) + 1
	}
	r, _, err := rewrite(ctx, s, ending, func(ctx context.Context) (*etcd.TxnResponse, error) {
		return s.client.Txn(ctx).If(changedAt(string(kv.Key), kv.ModRevision)).
			Then(etcd.OpPut(string(kv.Key), e.text(), etcd.WithIgnoreLease())).Commit()
	})
	if err != nil || !r.Succeeded {
		return 0, false, err
	}
	return g.epoch(e, kv.CreateRevision), true, nil
}
