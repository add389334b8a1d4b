package ll3003

import (
	"context"
	"log"
	"sync"
	"time"
	"unsafe"

	"github.com/go-redsync/redsync/v4"
)

// Code that changes what says whether there is a lock: callees, method values, goroutines and callbacks.

type inner struct{ held bool }

type outcome struct {
	held, busy bool
	inner      inner
	parts      [2]bool
}

type mark bool

func (f *mark) clear() { *f = false }

func (s *outcome) notBusy()       { s.busy = false }
func (s *outcome) resetInner()    { s.inner = inner{} }
func (s *outcome) resetParts()    { s.parts = [2]bool{} }
func (s *outcome) resetNew()      { *s = *new(outcome) }
func (s *outcome) resetVar()      { var z outcome; *s = z }
func (s *outcome) String() string { s.busy = false; return "" }

func resetOutcome(s *outcome)           { *s = outcome{} }
func setBoth(s *outcome, b *bool)       { *b = false; s.busy = true }
func setBothTurned(s *outcome, b *bool) { s.busy = true; *b = false }
func zeroOf[T any](p *T)                { var z T; *p = z }
func explain(err *error)                { log.Println(*err) }
func explainAll(err *error)             { explain(err) }

type clearer interface{ notBusy() }

func workOn(ctx context.Context) error { return ctx.Err() }

func resetsInner(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.inner.held = m.LockContext(ctx) != nil // want `LL3003: `
	s.resetInner()
	if s.inner.held {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func resetsArray(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.parts[1] = m.LockContext(ctx) != nil // want `LL3003: `
	s.resetParts()
	if s.parts[1] {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func resetsToNew(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	s.resetNew()
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func resetsToVariable(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	s.resetVar()
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func resetsByFunction(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	resetOutcome(s)
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func setsTwice(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	setBoth(s, &s.busy)
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func setsTwiceTurned(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	setBothTurned(s, &s.busy)
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func resetsGeneric(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	zeroOf(s)
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsBehindInterface(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	var c clearer = s
	c.notBusy()
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsByExpression(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	f := (*outcome).notBusy
	f(s)
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsConverted(ctx context.Context, rs *redsync.Redsync) error {
	m, busy := rs.NewMutex("k"), false
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	f := (*mark)(&busy).clear
	f()
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsByValue(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var busy mark
	f := busy.clear
	busy = mark(m.LockContext(ctx) != nil) // want `LL3003: `
	f()
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsWhereShown(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	log.Println(s)
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsAfterwards(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	context.AfterFunc(ctx, s.notBusy)
	time.Sleep(time.Second)
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsInAfterFunc(ctx context.Context, rs *redsync.Redsync) error {
	m, busy := rs.NewMutex("k"), false
	context.AfterFunc(ctx, func() { busy = false })
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	time.Sleep(time.Second)
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsFromMap(ctx context.Context, rs *redsync.Redsync) error {
	m, busy := rs.NewMutex("k"), false
	fs := map[string]func(){"a": func() { busy = false }}
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	fs["a"]()
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsOnce(ctx context.Context, rs *redsync.Redsync, once *sync.Once) error {
	m, busy := rs.NewMutex("k"), false
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	once.Do(func() { busy = false })
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsInRange(ctx context.Context, rs *redsync.Redsync, seq func(func(int) bool)) error {
	m, busy := rs.NewMutex("k"), false
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	for range seq {
		busy = false
	}
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsByte(ctx context.Context, rs *redsync.Redsync) error {
	m, busy := rs.NewMutex("k"), false
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	*(*uint8)(unsafe.Pointer(&busy)) = 0
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsField(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	(*struct{ b, c uint8 })(unsafe.Pointer(s)).c = 0
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func resetsDeferred(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	s.held = true
	defer func() {
		if s.held {
			m.UnlockContext(ctx)
		}
	}()
	defer resetOutcome(s)
	return workOn(ctx)
}

func resetsDeferredValue(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	defer func() {
		if s.held {
			m.UnlockContext(ctx)
		}
	}()
	f := s.resetNew
	defer f()
	defer func() { s.held = true }()
	return workOn(ctx)
}

func clearsEither(ctx context.Context, rs *redsync.Redsync, x bool) error {
	m, busy, other := rs.NewMutex("k"), false, false
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	p := &busy
	if x {
		p = &other
	}
	*p = false
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func resetsBetween(ctx context.Context, rs *redsync.Redsync, s *outcome) error {
	m := rs.NewMutex("k")
	if s.held {
		if err := m.LockContext(ctx); err != nil { // want `LL3003: `
			return err
		}
	}
	s.resetVar()
	err := workOn(ctx)
	if s.held {
		m.UnlockContext(ctx)
	}
	return err
}

func resetsBetweenByFunction(ctx context.Context, rs *redsync.Redsync, s *outcome) error {
	m := rs.NewMutex("k")
	if s.held {
		if err := m.LockContext(ctx); err != nil { // want `LL3003: `
			return err
		}
	}
	resetOutcome(s)
	err := workOn(ctx)
	if s.held {
		m.UnlockContext(ctx)
	}
	return err
}

func clearsFromChannel(ctx context.Context, rs *redsync.Redsync) error {
	m, busy := rs.NewMutex("k"), false
	done := make(chan func(), 1)
	done <- func() { busy = false }
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	(<-done)()
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsInGroup(ctx context.Context, rs *redsync.Redsync) error {
	m, busy := rs.NewMutex("k"), false
	var wg sync.WaitGroup
	busy = m.LockContext(ctx) != nil // want `LL3003: `
	wg.Go(func() { busy = false })
	wg.Wait()
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsInGroupBefore(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	var wg sync.WaitGroup
	wg.Go(func() { s.busy = false })
	s.busy = m.LockContext(ctx) != nil // want `LL3003: `
	wg.Wait()
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func resetsFromField(ctx context.Context, rs *redsync.Redsync) (err error) {
	m, s := rs.NewMutex("k"), &outcome{}
	if err = m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	s.held = true
	hs := struct{ f func() }{s.resetVar}
	hs.f()
	err = workOn(ctx)
	if s.held {
		m.UnlockContext(ctx)
	}
	return err
}

func clearsBefore(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	clear := s.notBusy
	clear()
	s.busy = m.LockContext(ctx) != nil
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func showsInGoroutine(ctx context.Context, rs *redsync.Redsync) error {
	m, busy := rs.NewMutex("k"), false
	done := make(chan bool)
	busy = m.LockContext(ctx) != nil
	go func() { log.Println(busy); close(done) }()
	<-done
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsInLiteral(ctx context.Context, rs *redsync.Redsync) error {
	m, held := rs.NewMutex("k"), false
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	held = true
	func(b *bool) { *b = false }(&held)
	err := workOn(ctx)
	if held {
		m.UnlockContext(ctx)
	}
	return err
}

func clearsInLiteralWhole(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	s.busy = true
	func(s *outcome) { s.busy = false }(s)
	err := workOn(ctx)
	if s.busy {
		m.UnlockContext(ctx)
	}
	return err
}

func clearsByMethodValue(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	clear := s.notBusy
	s.busy = m.LockContext(ctx) != nil // want `LL3003: .*\(when s.busy\)`
	clear()
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsInGoroutine(ctx context.Context, rs *redsync.Redsync) error {
	m, busy := rs.NewMutex("k"), false
	done := make(chan bool)
	busy = m.LockContext(ctx) != nil // want `LL3003: .*\(when busy\)`
	go func() { busy = false; close(done) }()
	<-done
	if busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func clearsInGoroutineOfMethod(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil // want `LL3003: .*\(when s.busy\)`
	go s.notBusy()
	time.Sleep(time.Second)
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

// What is set once more afterwards counts again.
func resetsThenSets(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	resetOutcome(s)
	s.busy = m.LockContext(ctx) != nil
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

// Another part of the struct is another matter.
func resetsOther(ctx context.Context, rs *redsync.Redsync) error {
	m, s := rs.NewMutex("k"), &outcome{}
	s.busy = m.LockContext(ctx) != nil
	s.resetInner()
	s.resetParts()
	if s.busy {
		return errTaken
	}
	err := workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

// What is deferred runs at the end.
func explainsAtEnd(ctx context.Context, rs *redsync.Redsync) (err error) {
	m := rs.NewMutex("k")
	defer explainAll(&err)
	err = m.LockContext(ctx)
	time.Sleep(time.Second)
	if err != nil {
		return err
	}
	defer m.UnlockContext(ctx)
	return workOn(ctx)
}

// The goroutine begins when the question has been answered.
func answeredBefore(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	err := m.LockContext(ctx)
	if err != nil {
		return err
	}
	done := make(chan bool)
	go func() { err = workOn(ctx); close(done) }()
	<-done
	m.UnlockContext(ctx)
	return err
}

// Asked at once, whatever has got hold of the variable before.
func askedAtOnce(ctx context.Context, rs *redsync.Redsync, once *sync.Once) error {
	m, err := rs.NewMutex("k"), error(nil)
	once.Do(func() { err = workOn(ctx) })
	if err = m.LockContext(ctx); err != nil {
		log.Println(err)
		return err
	}
	err = workOn(ctx)
	m.UnlockContext(ctx)
	return err
}

func asksTwice(ctx context.Context, rs *redsync.Redsync, s *outcome) error {
	m := rs.NewMutex("k")
	if s.held {
		if err := m.LockContext(ctx); err != nil {
			return err
		}
	}
	s.notBusy()
	err := workOn(ctx)
	if s.held {
		m.UnlockContext(ctx)
	}
	return err
}
