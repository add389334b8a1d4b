package lifeline

import (
	"context"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Locks is the store of locks at the end of the line.
func (l *Line) Locks(store lockrt.Store) lockrt.Store { return lockStore{store, l} }

type lockStore struct {
	store lockrt.Store
	line  *Line
}

func (s lockStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	session, err := s.store.Open(cfg)
	return lockSession{session, s.line}, err
}

// lockSession can do what a node needs; people look at locks from elsewhere.
type lockSession struct {
	lockrt.Session
	line *Line
}

func (s lockSession) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	return ask(ctx, s.line, func(ctx context.Context) (lockrt.Grant, error) { return s.Session.Acquire(ctx, req) })
}

func (s lockSession) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	return askAll(ctx, s.line, len(renewals), ErrCut,
		func(ctx context.Context) []error { return s.Session.Renew(ctx, renewals) })
}

func (s lockSession) Release(ctx context.Context, rel lockrt.Release) error {
	return tell(ctx, s.line, func(ctx context.Context) error { return s.Session.Release(ctx, rel) })
}

// Jobs is the store of jobs at the end of the line. The methods that are left out are
// not called by nodes at work, but by people.
func (l *Line) Jobs(store jobs.Store) jobs.Store { return jobStore{store, l} }

type jobStore struct {
	jobs.Store
	line *Line
}

func (s jobStore) Register(ctx context.Context, r jobs.Registration) (jobs.View, error) {
	return ask(ctx, s.line, func(ctx context.Context) (jobs.View, error) { return s.Store.Register(ctx, r) })
}

func (s jobStore) Look(ctx context.Context, names []string) (jobs.View, error) {
	return ask(ctx, s.line, func(ctx context.Context) (jobs.View, error) { return s.Store.Look(ctx, names) })
}

func (s jobStore) Cursors(ctx context.Context, names []string) ([]time.Time, error) {
	return ask(ctx, s.line, func(ctx context.Context) ([]time.Time, error) { return s.Store.Cursors(ctx, names) })
}

func (s jobStore) Epochs(ctx context.Context, names []string) ([]string, error) {
	return ask(ctx, s.line, func(ctx context.Context) ([]string, error) { return s.Store.Epochs(ctx, names) })
}

func (s jobStore) Restore(ctx context.Context, m jobs.Memory) error {
	return tell(ctx, s.line, func(ctx context.Context) error { return s.Store.Restore(ctx, m) })
}

func (s jobStore) Claim(ctx context.Context, claims []jobs.Claim) []jobs.Claimed {
	return askAll(ctx, s.line, len(claims), jobs.Claimed{Err: ErrCut}, func(ctx context.Context) []jobs.Claimed {
		return s.Store.Claim(ctx, claims)
	})
}

func (s jobStore) Start(ctx context.Context, starts []jobs.Start) []error {
	return askAll(ctx, s.line, len(starts), ErrCut,
		func(ctx context.Context) []error { return s.Store.Start(ctx, starts) })
}

func (s jobStore) Finish(ctx context.Context, finishes []jobs.Finish) []error {
	return askAll(ctx, s.line, len(finishes), ErrCut,
		func(ctx context.Context) []error { return s.Store.Finish(ctx, finishes) })
}

func (s jobStore) Heartbeat(ctx context.Context, b jobs.Heartbeat) (jobs.HeartbeatReply, error) {
	return ask(ctx, s.line, func(ctx context.Context) (jobs.HeartbeatReply, error) { return s.Store.Heartbeat(ctx, b) })
}

func (s jobStore) Leave(ctx context.Context, session string) error {
	return tell(ctx, s.line, func(ctx context.Context) error { return s.Store.Leave(ctx, session) })
}

func (s jobStore) InFlight(ctx context.Context) ([]jobs.InFlight, error) {
	return ask(ctx, s.line, func(ctx context.Context) ([]jobs.InFlight, error) { return s.Store.InFlight(ctx) })
}
