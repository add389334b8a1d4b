package lockrt

import (
	"errors"
	"fmt"
)

// Mode is how a lease holds its key.
type Mode uint8

const (
	// Write holds the key alone. It is the default.
	Write Mode = iota
	// Read holds the key together with other readers. While there are readers nobody writes, and while somebody writes
	// nobody reads.
	Read
)

// String returns "write" or "read".
func (m Mode) String() string {
	switch m {
	case Write:
		return "write"
	case Read:
		return "read"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// maxPermits is how many may hold one key at the same time by Options.Permits.
const maxPermits = 1000

// kind is how a lease shares its key: not at all, with readers, or with so many others. Leases of different kinds never
// hold a key at the same time.
type kind struct {
	mode    Mode
	permits uint16
}

// kind is that of the leases that o asks for. It requires valid options.
func (o Options) kind() kind { return kind{mode: o.Mode, permits: uint16(o.Permits)} }

// exclusive reports whether such a lease holds its key alone.
func (k kind) exclusive() bool { return k == kind{} }

func (k kind) String() string {
	switch {
	case k.permits > 0:
		return fmt.Sprintf("one of %d permits", k.permits)
	case k.mode == Read:
		return "reading"
	}
	return "writing"
}

// validateKind refuses kinds that make no sense, and what makes no sense with them.
func (o Options) validateKind() error {
	switch {
	case o.Mode == Write && o.Permits == 0:
		return nil
	case o.Mode > Read:
		return fmt.Errorf("%w: Mode is %s; use lockrt.Write or lockrt.Read", ErrOptions, o.Mode)
	case o.Permits < 0 || o.Permits > maxPermits:
		return fmt.Errorf("%w: Permits is %d; use 1 to %d, or 0 for a lock that one holds at a time",
			ErrOptions, o.Permits, maxPermits)
	case o.Permits > 0 && o.Mode != Write:
		return fmt.Errorf("%w: Permits is %d and Mode is %s; a key has readers and writers, or permits",
			ErrOptions, o.Permits, o.Mode)
	case o.Mode == Read && o.MinHold > 0:
		return fmt.Errorf("%w: MinHold is %s and Mode is read; a reader that has left would keep writers away",
			ErrOptions, o.MinHold)
	}
	return nil
}

// sharable is nil if a nested call with o may share the lease. A call for a stronger kind may not: it would have to
// wait until all others have gone, and two such calls would wait for each other without an end.
func (le *Lease) sharable(o Options) error {
	outer, inner := le.grant.heldKind(), o.kind()
	switch {
	case inner.exclusive() && !outer.exclusive():
		return fmt.Errorf("%w; release the lease (%s, fence %d), acquire for writing, and look again",
			ErrUpgrade, outer, le.Fence())
	case outer.permits != inner.permits:
		return fmt.Errorf("%w (%s, fence %d), and asks for it in another way (%s); they exclude each other",
			ErrNested, outer, le.Fence(), inner)
	case !o.Reentrant:
		return fmt.Errorf("%w (fence %d); set Reentrant to share that lease", ErrNested, le.Fence())
	}
	return nil
}

// sharesWith reports whether leases of a kind may hold the lock beside the grant.
func (g *grant) sharesWith(k kind) bool {
	held := g.heldKind()
	return !held.exclusive() && held.mode == k.mode && (held.permits > 0) == (k.permits > 0)
}

// Shares reports whether the store has readers and permits. Without them an acquire with Options.Mode Read or with
// Options.Permits fails with errors.ErrUnsupported.
func (l *Locker) Shares() bool {
	_, ok := l.session.(Sharer)
	return ok
}

// supports is nil if the store knows leases of this kind.
func (l *Locker) supports(k kind) error {
	if k.exclusive() {
		return nil
	}
	if !l.Shares() {
		return fmt.Errorf("the store %T has no readers and no permits, only locks that one holds at a time: %w",
			l.store, errors.ErrUnsupported)
	}
	return nil
}
