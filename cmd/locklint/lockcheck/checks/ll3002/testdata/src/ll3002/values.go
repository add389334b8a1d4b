package ll3002

import (
	"log"

	"github.com/go-redsync/redsync/v4"
)

// Method values, embedded locks, and functions in fields.

func valueLogged(m *redsync.Mutex, work func() error) {
	lock, unlock := m.Lock, m.Unlock
	if err := lock(); err != nil { // want `LL3002: when lock fails, the code goes on without the lock: work at line \d+ runs either way`
		log.Print(err)
	}
	defer unlock()
	work()
}

func valueIgnored(m *redsync.Mutex, work func() error) {
	lock := m.Lock
	lock() // want `LL3002: the error of lock is ignored`
	defer m.Unlock()
	work()
}

type embeds struct{ *redsync.Mutex }

func embedsLogged(e *embeds, work func() error) {
	if err := e.Lock(); err != nil { // want `LL3002: when e.Lock fails, the code goes on without the lock`
		log.Print(err)
	}
	defer e.Unlock()
	work()
}

// embedsTwice reaches the lock through two types.
type embedsTwice struct{ embeds }

func embedsTwiceLogged(e *embedsTwice, work func() error) {
	if err := e.Lock(); err != nil { // want `LL3002: when e.Lock fails, the code goes on without the lock`
		log.Print(err)
	}
	defer e.Unlock()
	work()
}

type functions struct {
	lock   func() error
	unlock func() (bool, error)
}

func functionsLogged(m *redsync.Mutex, work func() error) {
	f := functions{m.Lock, m.Unlock}
	if err := f.lock(); err != nil { // want `LL3002: when f.lock fails, the code goes on without the lock`
		log.Print(err)
	}
	defer f.unlock()
	work()
}

// A type whose field is the lock's method, wherever it is made.
type guard struct {
	acquire func() error
	release func() (bool, error)
}

func newGuard(m *redsync.Mutex) *guard { return &guard{acquire: m.Lock, release: m.Unlock} }

func (g *guard) Lock() error { return g.acquire() }
func (g *guard) Unlock()     { _, _ = g.release() }

func guardLogged(g *guard, work func() error) {
	if err := g.acquire(); err != nil { // want `LL3002: when g.acquire fails, the code goes on without the lock`
		log.Print(err)
	}
	defer g.release()
	work()
}

func guardMethods(g *guard, work func() error) {
	if err := g.Lock(); err != nil { // want `LL3002: when g.Lock fails, the code goes on without the lock`
		log.Print(err)
	}
	defer g.Unlock()
	work()
}

// Below is what is fine.

func valueReturned(m *redsync.Mutex, work func() error) error {
	lock, unlock := m.Lock, m.Unlock
	if err := lock(); err != nil {
		return err
	}
	defer unlock()
	return work()
}

// either may be something else: nobody knows what it does.
type either struct{ acquire func() error }

func newEither(m *redsync.Mutex) *either { return &either{m.Lock} }
func newOther() *either                  { return &either{func() error { return nil }} }

func eitherLogged(e *either, work func() error) {
	if err := e.acquire(); err != nil {
		log.Print(err)
	}
	work()
}

// given is set by somebody else.
type given struct{ Acquire func() error }

func newGiven(m *redsync.Mutex) *given { return &given{m.Lock} }

func givenLogged(g *given, work func() error) {
	if err := g.Acquire(); err != nil {
		log.Print(err)
	}
	work()
}

// withLock takes the lock and gives it back: whoever calls it takes none.
func (g *guard) withLock(work func() error) error {
	if err := g.acquire(); err != nil {
		return err
	}
	defer g.release()
	return work()
}

func aroundWork(g *guard, work func() error) {
	if err := g.withLock(work); err != nil {
		log.Print(err)
	}
	work()
}
