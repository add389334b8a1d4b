package ll3008

import (
	"context"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// Workers that keep their context together with what cancels it.

type syncer struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	locks  *redislock.Client
	slots  distributedLock
	rdb    *redis.Client
}

func (s *syncer) Start() {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.done.Add(1)
	go s.loop()
}

func (s *syncer) Stop() {
	s.cancel()
	s.done.Wait()
}

func (s *syncer) loop() {
	defer s.done.Done()
	for s.ctx.Err() == nil {
		s.once()
		s.named()
		s.byHand("a token")
	}
}

func (s *syncer) once() error {
	lock, err := s.locks.Obtain(s.ctx, "sync", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(s.ctx) // want `LL3008: lock.Release is given a context that Stop cancels`
	return work()
}

func (s *syncer) named() error {
	token, err := s.slots.Acquire(s.ctx, "sync", time.Minute)
	if err != nil {
		return err
	}
	err = work()
	if err := s.slots.Release(s.ctx, "sync", token); err != nil { // want `LL3008: s.slots.Release is given a context that Stop cancels`
		return err
	}
	return err
}

func (s *syncer) byHand(token string) error {
	ctx := s.ctx
	if ok, err := s.rdb.SetNX(ctx, "lock:sync", token, time.Minute).Result(); err != nil || !ok {
		return err
	}
	defer unlock.Run(ctx, s.rdb, []string{"lock:sync"}, token) // want `LL3008: unlock.Run is given a context that Stop cancels`
	return work()
}

func (s *syncer) detached() error {
	lock, err := s.locks.Obtain(s.ctx, "sync", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(s.ctx))
	return work()
}

// A context that a context of the caller's is the parent of, kept by another type.

type executor struct {
	ctx  context.Context
	stop context.CancelFunc
}

func newExecutor(ctx context.Context) *executor {
	own, stop := context.WithCancel(ctx)
	return &executor{ctx: own, stop: stop}
}

func (r *executor) halt() { r.stop() }

type lockedExecutor struct {
	runner *executor
	slots  distributedLock
}

func (g *lockedExecutor) run() error {
	ctx := g.runner.ctx
	token, err := g.slots.Acquire(ctx, "run", time.Minute)
	if err != nil {
		return err
	}
	defer func() {
		if err := g.slots.Release(ctx, "run", token); err != nil { // want `LL3008: g.slots.Release is given a context that halt cancels`
			println(err)
		}
	}()
	return work()
}

// Who cancels waits for the work first: no lock is held then.

type patient struct {
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	locks  *redislock.Client
}

func newPatient() *patient {
	p := &patient{}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

func (p *patient) Stop() {
	p.done.Wait()
	p.cancel()
}

func (p *patient) once() error {
	lock, err := p.locks.Obtain(p.ctx, "patient", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(p.ctx)
	return work()
}

// Nobody cancels it.

type endless struct {
	ctx    context.Context
	cancel context.CancelFunc
	locks  *redislock.Client
}

func newEndless() *endless {
	e := &endless{}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

func (e *endless) once() error {
	lock, err := e.locks.Obtain(e.ctx, "endless", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(e.ctx)
	return work()
}

// It ends when the one function that uses it has released.

type single struct {
	ctx    context.Context
	cancel context.CancelFunc
	locks  *redislock.Client
}

func newSingle() *single {
	s := &single{}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func (s *single) once() error {
	defer s.cancel()
	lock, err := s.locks.Obtain(s.ctx, "single", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(s.ctx)
	return work()
}

// The constructor gives the context another name for itself, and the work runs in a goroutine.

type singleton struct {
	locks  *redislock.Client
	ctx    context.Context
	cancel context.CancelFunc
}

func newSingleton(ctx context.Context, locks *redislock.Client) *singleton {
	s := &singleton{locks: locks}
	ctx, cancel := context.WithCancel(ctx)
	s.ctx = ctx
	s.cancel = cancel
	go func() {
		<-ctx.Done()
		s.Close()
	}()
	return s
}

func (s *singleton) Close() { s.cancel() }

func (s *singleton) Start() {
	go func() {
		for s.ctx.Err() == nil {
			func() {
				ctx, cancel := context.WithCancel(s.ctx)
				defer cancel()
				lock, err := s.locks.Obtain(ctx, "singleton", time.Minute, nil)
				if err != nil {
					return
				}
				defer func() {
					_ = lock.Release(s.ctx) // want `LL3008: lock.Release is given a context that Close cancels`
				}()
				go func() {
					err = lock.Refresh(ctx, time.Minute, nil)
				}()
				_ = work()
			}()
		}
	}()
}
