package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// wire is the connection of one node to the stores. What is cut off fails without reaching the store: to the rest of
// the cluster, a node that is cut off from both is dead.
type wire struct {
	jobsCut, locksCut atomic.Bool
	dropReplies       atomic.Int32 // so many next changes reach the store of jobs, but fail for the caller
}

var errCut = errors.New("connection refused")

func (w *wire) die() {
	w.jobsCut.Store(true)
	w.locksCut.Store(true)
}

// storeWire is a Store behind a wire.
type storeWire struct {
	Store
	*wire
}

func (s *storeWire) err() error {
	if s.jobsCut.Load() {
		return errCut
	}
	return nil
}

// reply is the error for a change that has reached the store.
func (s *storeWire) reply(err error) error {
	if s.dropReplies.Load() > 0 && s.dropReplies.Add(-1) >= 0 {
		return errCut
	}
	return err
}

func (s *storeWire) Look(ctx context.Context, jobs []string) (View, error) {
	if err := s.err(); err != nil {
		return View{}, err
	}
	return s.Store.Look(ctx, jobs)
}

func (s *storeWire) Claim(ctx context.Context, claims []Claim) []Claimed {
	if err := s.err(); err != nil {
		results := make([]Claimed, len(claims))
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	results := s.Store.Claim(ctx, claims)
	for i, r := range results {
		if err := s.reply(nil); err != nil && r.Status == ClaimWon {
			results[i] = Claimed{Err: err}
		}
	}
	return results
}

func (s *storeWire) Start(ctx context.Context, p Pending, lease time.Duration) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.reply(s.Store.Start(ctx, p, lease))
}

func (s *storeWire) Renew(ctx context.Context, runs []RunRef, lease time.Duration) []error {
	if err := s.err(); err != nil {
		errs := make([]error, len(runs))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	return s.Store.Renew(ctx, runs, lease)
}

func (s *storeWire) Finish(ctx context.Context, f Finish) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.reply(s.Store.Finish(ctx, f))
}

// lockWire is a store of locks behind a wire.
type lockWire struct {
	lockrt.Store
	*wire
}

func (s *lockWire) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	sess, err := s.Store.Open(cfg)
	return &lockSession{Session: sess, wire: s.wire}, err
}

func (s *lockWire) Value(key any, mk func() any) any { return s.Store.(valuer).Value(key, mk) }

type lockSession struct {
	lockrt.Session
	*wire
}

func (s *lockSession) err() error {
	if s.locksCut.Load() {
		return errCut
	}
	return nil
}

func (s *lockSession) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if err := s.err(); err != nil {
		return lockrt.Grant{}, err
	}
	return s.Session.Acquire(ctx, req)
}

func (s *lockSession) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	if err := s.err(); err != nil {
		errs := make([]error, len(renewals))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	return s.Session.Renew(ctx, renewals)
}

func (s *lockSession) Release(ctx context.Context, rel lockrt.Release) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Session.Release(ctx, rel)
}

func (s *lockSession) Inspect(ctx context.Context, key string) (lockrt.LockInfo, error) {
	if err := s.err(); err != nil {
		return lockrt.LockInfo{}, err
	}
	return s.Session.(lockrt.Inspector).Inspect(ctx, key)
}

func (s *lockSession) Break(ctx context.Context, key, reason string) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Session.(lockrt.Breaker).Break(ctx, key, reason)
}
