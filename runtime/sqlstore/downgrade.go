package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Shares implements lockrt.Sharer.
func (s *session) Shares() {}

// Downgrade implements lockrt.Downgrader. It waits for transactions that Guard made part of the lease, which write.
func (s *session) Downgrade(ctx context.Context, d lockrt.Downgrading) (uint64, error) {
	id := escaped(d.ID)
	epochs := make(chan int64, 1)
	found := s.lookForGuards(ctx)
	_, err := s.calls.do(ctx, callTime, func(limit context.Context) error {
		epoch, err := s.downgrade(limit, d, id)
		epochs <- epoch
		return err
	})
	guards := found()
	switch {
	case errors.Is(err, lockrt.ErrLost):
		return 0, err
	case err != nil:
		return 0, guardedBy(s.explain(ctx, err), guards)
	}
	s.mu.Lock()
	if h := s.leases[id]; h != nil {
		h.reads = true
	}
	s.mu.Unlock()
	return uint64(<-epochs), nil
}

// downgrade repeats what had no answer. What was done by then is found done.
func (s *session) downgrade(ctx context.Context, d lockrt.Downgrading, id string) (epoch int64, err error) {
	t, err := s.store.ready(ctx)
	if err != nil {
		return 0, err
	}
	for {
		var lost error
		var why string // it was broken
		err = s.change(ctx, t, rowName(s.Namespace, d.Key), func(r *row, now int64, lives liveness) (bool, row, string) {
			if r == nil {
				lost = lockrt.ErrLost
				return false, row{}, ""
			}
			if out, has := r.stateOf(id, now); has && out == broken {
				lost, why = lockrt.ErrLost, r.brokenWhy(id, now)
				return false, row{}, ""
			}
			next, done, ok := r.downgrade(id, d.NewEpoch, now, lives)
			switch {
			case done && !ok:
				lost = fmt.Errorf("%w: the lease is that of a permit", lockrt.ErrOptions)
			case !ok:
				lost = lockrt.ErrLost
			default:
				lost, epoch = nil, next.epoch
			}
			return ok && !done, next, ""
		})
		switch {
		case err == nil && why != "":
			s.lose(id, d.Key, errors.New(why), "")
			return 0, lost
		case err == nil && errors.Is(lost, lockrt.ErrLost):
			s.unwanted(id)
			return 0, lost
		case err == nil:
			return epoch, lost
		case !t.retryable(err) || !pace.Sleep(ctx, pace.Jitter(askBackoff)):
			return 0, err
		}
	}
}
