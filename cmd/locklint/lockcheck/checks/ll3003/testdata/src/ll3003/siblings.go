package ll3003

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-redsync/redsync/v4"
)

// Who is given the address of one field can not reach the fields beside it.

type ticks struct{ n int }

func (t *ticks) tick(by int) {
	for range by {
		t.n++
	}
}

func fill(in *inner, n int) {
	for range n {
		*in = inner{}
	}
}

func besideMutex(ctx context.Context, rs *redsync.Redsync) error {
	var st struct {
		mu   sync.Mutex
		held bool
	}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	st.mu.Lock()
	st.held = true
	st.mu.Unlock()
	defer func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.held {
			m.UnlockContext(ctx)
		}
	}()
	return workOn(ctx)
}

func besideEmbedded(ctx context.Context, rs *redsync.Redsync) error {
	st := &struct {
		sync.RWMutex
		held bool
	}{}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	st.Lock()
	st.held = true
	st.Unlock()
	defer func() {
		st.RLock()
		defer st.RUnlock()
		if st.held {
			m.UnlockContext(ctx)
		}
	}()
	return workOn(ctx)
}

func besideOthers(ctx context.Context, rs *redsync.Redsync) error {
	var st struct {
		out   strings.Builder
		buf   bytes.Buffer
		group sync.WaitGroup
		tries atomic.Int32
		ticks ticks
		flags [2]bool
		held  bool
	}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	st.held = true
	st.out.WriteString("held")
	fmt.Fprintf(&st.buf, "held")
	st.group.Wait()
	st.tries.Add(1)
	st.ticks.tick(2)
	fmt.Sscan("true", &st.flags[0])
	if st.held {
		m.UnlockContext(ctx)
	}
	return nil
}

type report struct {
	out  strings.Builder
	held bool
}

func (r *report) besideBuilder(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	r.held = true
	r.out.WriteString("held")
	if r.held {
		m.UnlockContext(ctx)
	}
	return nil
}

func besideGoroutine(ctx context.Context, rs *redsync.Redsync) error {
	var st struct {
		mu   sync.Mutex
		held bool
	}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	st.held = true
	go func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.held = false
	}()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.held {
		m.UnlockContext(ctx)
	}
	return nil
}

func besideOnce(ctx context.Context, rs *redsync.Redsync) error {
	var st struct {
		once sync.Once
		held bool
	}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	st.held = true
	st.once.Do(func() { st.held = false })
	if st.held {
		m.UnlockContext(ctx)
	}
	return nil
}

func insideField(ctx context.Context, rs *redsync.Redsync) error {
	var st struct {
		ticks ticks
		inner inner
	}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	st.inner.held = true
	fill(&st.inner, 1)
	if st.inner.held {
		m.UnlockContext(ctx)
	}
	return nil
}

func besideUnsafe(ctx context.Context, rs *redsync.Redsync) error {
	var st struct {
		mu   sync.Mutex
		held bool
	}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	st.held = true
	fmt.Sscan("false", (*bool)(unsafe.Add(unsafe.Pointer(&st.mu), unsafe.Offsetof(st.held))))
	if st.held {
		m.UnlockContext(ctx)
	}
	return nil
}

func besideSomeElement(ctx context.Context, rs *redsync.Redsync, i int) error {
	var held [2]bool
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	held[1] = true
	fmt.Sscan("false", &held[i])
	if held[1] {
		m.UnlockContext(ctx)
	}
	return nil
}
