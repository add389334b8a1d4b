package user

import (
	"context"
	"log"
	"net/http"

	"wrapped/locks"
)

func work() error { return nil }

func dropped(ctx context.Context, m *locks.Mutex) error {
	m.Lock(ctx) // want `LL3002: the error of m.Lock is ignored`
	defer m.Unlock(context.WithoutCancel(ctx))
	return work()
}

func droppedFlag(ctx context.Context, m *locks.Mutex) error {
	m.TryLock(ctx) // want `LL3002: the outcome of m.TryLock is ignored`
	defer m.Unlock(context.WithoutCancel(ctx))
	return work()
}

func logged(ctx context.Context, m *locks.Mutex) error {
	if err := m.Lock(ctx); err != nil { // want `LL3002: when m.Lock fails, the code goes on without the lock`
		log.Println(err)
	}
	defer m.Unlock(ctx) // want `LL3005: m.Unlock runs also when m.Lock at line 26 has failed` `LL3008: m.Unlock is given the caller's context`
	return work()
}

type service struct {
	mu    *locks.Mutex
	iface locks.Locker
}

func (s *service) tooEarly(w http.ResponseWriter, r *http.Request) {
	err := s.mu.Lock(r.Context())
	defer s.mu.Unlock(r.Context()) // want `LL3005: s.mu.Unlock runs also when` `LL3008: s.mu.Unlock is given the context of a request`
	if err != nil {
		return
	}
	work()
}

func (s *service) behindInterface(ctx context.Context) error {
	if err := s.iface.Lock(ctx); err != nil { // want `LL3002: when s.iface.Lock fails`
		log.Println(err, s.iface.Name())
	}
	err := work()
	s.iface.Unlock(context.Background()) // want `LL3005`
	return err
}

func flagged(ctx context.Context, m *locks.Mutex) error {
	if !m.TryLock(ctx) { // want `LL3002: when m.TryLock fails`
		log.Println("busy")
	}
	err := work()
	if e := m.Unlock(context.WithoutCancel(ctx)); e != nil { // want `LL3005`
		return e
	}
	return err
}

func keyed(k *locks.Keyed) error {
	if err := k.Acquire("a"); err != nil { // want `LL3002`
		log.Println(err)
	}
	defer k.Done() // which looks whether there is one
	return work()
}

func taken(ctx context.Context, h *locks.LockHolder) error {
	ok, err := h.Take(ctx, "a")
	if err != nil || !ok {
		return err
	}
	defer h.Give(ctx) // it keeps the context to itself
	return work()
}

func takenAnyway(ctx context.Context, h *locks.LockHolder) error {
	ok, err := h.Take(ctx, "a") // want `LL3002: when h.Take fails`
	if err != nil || !ok {
		log.Println(err)
	}
	defer h.Give(ctx) // want `LL3005`
	return work()
}

func leased(ctx context.Context, c *locks.Client, early bool) error {
	lease, err := c.Obtain(ctx, "a") // want `LL3003: the lock from Client.Obtain is not released on every path: the return at line \d+ \(when early\) leaves it held`
	if err != nil {
		return err
	}
	log.Println(lease.Key())
	if early {
		return nil
	}
	return lease.Release(ctx) // want `LL3008`
}

func leasedBlindly(ctx context.Context, c *locks.Client) error {
	lease, _ := c.Obtain(ctx, "a") // want `LL3002: the error of c.Obtain is ignored`
	defer lease.Release(context.Background())
	return work()
}

func byFunction(ctx context.Context, c *locks.Client) error {
	unlock, err := c.ObtainFunc(ctx, "a") // want `LL3002: when c.ObtainFunc fails`
	if err != nil {
		log.Println(err)
	}
	defer unlock() // want `LL3005`
	return work()
}

func byMethod(ctx context.Context, c *locks.Client, early bool) error {
	unlock, err := c.ObtainMethod(ctx, "a") // want `LL3003: the lock from Client.ObtainMethod is not released on every path`
	if err != nil {
		return err
	}
	if early {
		return nil
	}
	return unlock(ctx) // want `LL3008: unlock is given the caller.s context`
}

func session(ctx context.Context, s *locks.SessionLock) error {
	if err := s.Begin(ctx, "a"); err != nil { // want `LL3002`
		log.Println(err)
	}
	s.Other()
	err := work()
	s.End() // want `LL3005`
	return err
}

func through(ctx context.Context, t *locks.ThroughMutex) error {
	if err := t.Enter(ctx); err != nil { // want `LL3002`
		log.Println(err)
	}
	defer t.Leave(context.Background()) // want `LL3005`
	return work()
}

// Fine.

func right(ctx context.Context, m *locks.Mutex) error {
	if err := m.Lock(ctx); err != nil {
		return err
	}
	defer m.Unlock(context.WithoutCancel(ctx))
	return work()
}

func rightFlag(ctx context.Context, m *locks.Mutex) error {
	if !m.TryLock(ctx) {
		return locks.ErrBusy
	}
	defer m.Unlock(context.WithoutCancel(ctx))
	return work()
}

func rightLease(ctx context.Context, c *locks.Client) error {
	lease, err := c.Obtain(ctx, "a")
	if err != nil {
		return err
	}
	defer lease.Release(context.WithoutCancel(ctx))
	return work()
}

func rightFunction(ctx context.Context, c *locks.Client) error {
	unlock, err := c.ObtainFunc(ctx, "a")
	if err != nil {
		return err
	}
	defer unlock()
	return work()
}

func handedOn(ctx context.Context, c *locks.Client) (*locks.Lease, error) {
	return c.Obtain(ctx, "a")
}

func handedOnFunction(ctx context.Context, c *locks.Client) (func(), error) {
	unlock, err := c.ObtainFunc(ctx, "a")
	if err != nil {
		return nil, err
	}
	return unlock, nil
}

func forgiven(f *locks.Forgives) error {
	f.Lock()
	defer f.Unlock()
	return work()
}

func within(ctx context.Context, m *locks.Mutex) error { return m.Within(ctx, work) }

// What is wrong with the lock itself is told in its own package; what is wrong with its use is told here.

func unheld(ctx context.Context, r *locks.Redis, token string) error {
	ok, err := r.Lock(ctx, "lock:a", token)
	defer r.Unlock(ctx, "lock:a") // want `LL2002: DEL \(through Redis.Unlock\) also runs when SetNX \(through Redis.Lock\)`
	if err != nil || !ok {
		return err
	}
	return work()
}

func onlyHeld(ctx context.Context, r *locks.Redis, token string) error {
	ok, err := r.Lock(ctx, "lock:a", token)
	if err != nil || !ok {
		return err
	}
	defer r.Unlock(ctx, "lock:a")
	return work()
}

func start(ctx context.Context, w *locks.Worker) error {
	if err := w.Start(ctx); err != nil {
		log.Println(err)
	}
	defer w.Stop(ctx)
	return work()
}
