package jobstest

import (
	"context"
	"errors"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// lockLink is a store of locks behind a link.
type lockLink struct {
	*memstore.Store
	link *link
}

func (s *lockLink) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	session, err := s.Store.Open(cfg)
	return &lockSession{Session: session, link: s.link}, err
}

type lockSession struct {
	lockrt.Session
	link *link
}

// Shares says that the memory store has readers and permits.
func (*lockSession) Shares() {}

// driverTime is after how long a driver fails whose store does not answer.
const driverTime = 5 * time.Second

var errNoAnswer = errors.New("the store of locks did not answer for " + driverTime.String())

func (s *lockSession) pass(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, driverTime)
	defer cancel()
	if err := s.link.locksSilent.pass(limited); err != nil {
		if ctx.Err() == nil {
			return errNoAnswer
		}
		return err
	}
	return s.link.pass(ctx, &s.link.locksCut)
}

func (s *lockSession) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	if err := s.pass(ctx); err != nil {
		return lockrt.Grant{}, err
	}
	return s.Session.Acquire(ctx, req)
}

func (s *lockSession) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	if err := s.pass(ctx); err != nil {
		return failAll(len(renewals), err)
	}
	return s.Session.Renew(ctx, renewals)
}

func (s *lockSession) Release(ctx context.Context, rel lockrt.Release) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.Session.Release(ctx, rel)
}

func (s *lockSession) Inspect(ctx context.Context, key string) (lockrt.LockInfo, error) {
	if err := s.pass(ctx); err != nil {
		return lockrt.LockInfo{}, err
	}
	return s.Session.(lockrt.Inspector).Inspect(ctx, key)
}

func (s *lockSession) Break(ctx context.Context, b lockrt.Breaking) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.Session.(lockrt.Breaker).Break(ctx, b)
}
