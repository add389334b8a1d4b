package main

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// errOverlap means that two held the lock at the same time. It fails the whole run: a fast lock that does not lock is
// not a result.
var errOverlap = errors.New("mutual exclusion was broken")

// guard watches over one lock. Who acquired enters, who is about to release leaves. It lives in memory, or in a file
// that several processes have mapped.
type guard struct{ state *guardState }

type guardState struct {
	owner    uint64 // who is inside, 0 for nobody
	entries  uint64 // read at the entry and written at the exit: an overlap loses one
	overlaps uint64
	left     uint64 // when somebody was last about to release, in ns of the clock that all processes share
	last     uint64 // who that was
}

// guardFileSize is one page; the state is at its beginning.
const guardFileSize = 4096

func newGuard() *guard { return &guard{new(guardState)} }

// newGuardFile makes a guard for several processes in a new file.
func newGuardFile() (path string, err error) {
	f, err := os.CreateTemp("", "lockgen-bench-guard-")
	if err != nil {
		return "", fmt.Errorf("make a file for the guard: %w", err)
	}
	err = errors.Join(f.Truncate(guardFileSize), f.Close())
	return f.Name(), err
}

// openGuardFile maps the guard of another process. It stays mapped until unmap is called.
func openGuardFile(path string) (g *guard, unmap func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open the guard: %w", err)
	}
	defer f.Close() // the mapping outlives it
	page, err := syscall.Mmap(int(f.Fd()), 0, guardFileSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map the guard %s: %w", path, err)
	}
	return &guard{(*guardState)(unsafe.Pointer(&page[0]))}, func() error { return syscall.Munmap(page) }, nil
}

// enter is called with the lock held. who is not 0 and different for all callers.
func (g *guard) enter(who uint64) (entry uint64) {
	if !atomic.CompareAndSwapUint64(&g.state.owner, 0, who) {
		atomic.AddUint64(&g.state.overlaps, 1)
	}
	return atomic.LoadUint64(&g.state.entries)
}

// leave is called with the lock still held. The entry is counted by writing what enter read, plus one: whoever came
// between is overwritten.
func (g *guard) leave(who, entry uint64) {
	atomic.StoreUint64(&g.state.left, uint64(time.Now().UnixNano()))
	atomic.StoreUint64(&g.state.last, who)
	atomic.StoreUint64(&g.state.entries, entry+1)
	if !atomic.CompareAndSwapUint64(&g.state.owner, who, 0) {
		atomic.AddUint64(&g.state.overlaps, 1)
	}
}

// passed is called with the lock held, before enter: when somebody was last about to release, and who. It is zero for the
// first holder.
func (g *guard) passed() (at time.Time, who uint64) {
	return time.Unix(0, int64(atomic.LoadUint64(&g.state.left))), atomic.LoadUint64(&g.state.last)
}

// check is called when everybody is out; acquired is how often they have been in.
func (g *guard) check(contender string, acquired int) error {
	overlaps, entries := atomic.LoadUint64(&g.state.overlaps), atomic.LoadUint64(&g.state.entries)
	if overlaps == 0 && entries == uint64(acquired) {
		return nil
	}
	return fmt.Errorf("%w by %s: %d overlaps seen, %d of %d entries counted", errOverlap, contender, overlaps, entries, acquired)
}
