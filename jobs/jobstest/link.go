package jobstest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// ErrCut is the error of calls to a store from which the node is cut off.
var ErrCut = errors.New("connection refused")

// link is what lies between one node and its stores.
type link struct {
	crashed, jobsCut, locksCut atomic.Bool
	dropReplies                atomic.Int32
	frozen, locksSilent        gate
}

// gate lets calls through unless it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil: it is open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

// pass waits until the gate is open, or ctx ends.
func (g *gate) pass(ctx context.Context) error {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return nil
	}
	select {
	case <-shut:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass returns whether a call may go on to the store, when it may.
func (l *link) pass(ctx context.Context, cut *atomic.Bool) error {
	if err := l.frozen.pass(ctx); err != nil {
		return err
	}
	if l.crashed.Load() || cut.Load() {
		return ErrCut
	}
	return nil
}

// reply is the error for a change that has reached the store.
func (l *link) reply(err error) error {
	if l.dropReplies.Load() > 0 && l.dropReplies.Add(-1) >= 0 || l.crashed.Load() {
		return ErrCut
	}
	return err
}

// jobLink is a store of jobs behind a link. The methods that are not here are asked by people, not by nodes at work;
// they go through the link all the same where they matter to a test.
type jobLink struct {
	jobs.Store
	link *link
}

func (s *jobLink) pass(ctx context.Context) error { return s.link.pass(ctx, &s.link.jobsCut) }

func failAll(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (s *jobLink) Register(ctx context.Context, r jobs.Registration) (jobs.View, error) {
	if err := s.pass(ctx); err != nil {
		return jobs.View{}, err
	}
	return s.Store.Register(ctx, r)
}

func (s *jobLink) Look(ctx context.Context, names []string) (jobs.View, error) {
	if err := s.pass(ctx); err != nil {
		return jobs.View{}, err
	}
	return s.Store.Look(ctx, names)
}

func (s *jobLink) Nodes(ctx context.Context) ([]jobs.Node, error) {
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	return s.Store.Nodes(ctx)
}

func (s *jobLink) Cursors(ctx context.Context, names []string) ([]time.Time, error) {
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	return s.Store.Cursors(ctx, names)
}

func (s *jobLink) Epochs(ctx context.Context, names []string) ([]string, error) {
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	return s.Store.Epochs(ctx, names)
}

func (s *jobLink) Claim(ctx context.Context, claims []jobs.Claim) []jobs.Claimed {
	results := make([]jobs.Claimed, len(claims))
	if err := s.pass(ctx); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	results = s.Store.Claim(ctx, claims)
	for i, r := range results {
		if r.Status != jobs.ClaimWon {
			continue
		}
		if err := s.link.reply(nil); err != nil {
			results[i] = jobs.Claimed{Err: err}
		}
	}
	return results
}

func (s *jobLink) Start(ctx context.Context, starts []jobs.Start) []error {
	if err := s.pass(ctx); err != nil {
		return failAll(len(starts), err)
	}
	return s.replies(s.Store.Start(ctx, starts))
}

func (s *jobLink) Finish(ctx context.Context, finishes []jobs.Finish) []error {
	if err := s.pass(ctx); err != nil {
		return failAll(len(finishes), err)
	}
	return s.replies(s.Store.Finish(ctx, finishes))
}

func (s *jobLink) replies(errs []error) []error {
	for i, err := range errs {
		errs[i] = s.link.reply(err)
	}
	return errs
}

func (s *jobLink) Heartbeat(ctx context.Context, b jobs.Heartbeat) (jobs.HeartbeatReply, error) {
	if err := s.pass(ctx); err != nil {
		return jobs.HeartbeatReply{}, err
	}
	return s.Store.Heartbeat(ctx, b)
}

func (s *jobLink) Restore(ctx context.Context, m jobs.Memory) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.Store.Restore(ctx, m)
}

func (s *jobLink) Leave(ctx context.Context, session string) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.Store.Leave(ctx, session)
}

func (s *jobLink) InFlight(ctx context.Context) ([]jobs.InFlight, error) {
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	return s.Store.InFlight(ctx)
}

func (s *jobLink) Failures(ctx context.Context, limit int) ([]jobs.Run, error) {
	if err := s.pass(ctx); err != nil {
		return nil, err
	}
	return s.Store.Failures(ctx, limit)
}

func (s *jobLink) Cancel(ctx context.Context, n jobs.Notice) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.link.reply(s.Store.Cancel(ctx, n))
}

func (s *jobLink) Put(ctx context.Context, o jobs.OneOff) error {
	if err := s.pass(ctx); err != nil {
		return err
	}
	return s.link.reply(s.Store.Put(ctx, o))
}
