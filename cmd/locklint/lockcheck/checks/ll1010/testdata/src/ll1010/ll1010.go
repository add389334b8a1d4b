package ll1010

import (
	"context"
	"database/sql"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"ll1010/sinks"
)

type book struct{ locks *lockrt.Locker }

// write is where the fence is checked.
//
//lock:fenced
func (b *book) write(ctx context.Context, item string, f lockrt.Fence) error { return nil }

// number takes the fence as a number.
//
//lock:fenced
func (b *book) number(item string, version uint64) {}

// fromContext finds the fence itself.
//
//lock:fenced
func (b *book) fromContext(ctx context.Context, item string) {
	f, _ := fence.FromContext(ctx)
	b.write(ctx, item, f)
}

// blind takes a context and does not look into it.
//
//lock:fenced
func (b *book) blind(ctx context.Context, item string) {}

type store interface {
	//lock:fenced
	Put(item string, fence uint64)
	Get(item string) string
}

// sink is replaced in tests.
//
//lock:fenced
var sink func(item string, f uint64)

func plain(item string, f lockrt.Fence) {}

func sections(ctx context.Context, b *book, st store) error {
	b.write(ctx, "before", 0)
	lease, err := b.locks.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	ctx = lease.Context()
	b.write(ctx, "a", lease.Fence())
	b.write(ctx, "a", 0)                // want `LL1010: b.write writes under the lock from Acquire at line 52, but its fence is a constant`
	b.write(ctx, "a", lockrt.Fence(7))  // want `LL1010: b.write .*its fence is a constant`
	plain("a", 0)                       // want `LL1010: plain .*its fence is a constant`
	sinks.Save(ctx, "a", 0)             // want `LL1010: sinks.Save .*its fence is a constant`
	sinks.Save(ctx, "a", lease.Fence()) //
	b.number("a", 7)                    // want `LL1010: b.number .*nothing that it is given tells the fence, and it is marked //lock:fenced`
	st.Put("a", 0)                      // want `LL1010: st.Put .*nothing that it is given tells the fence`
	sink("a", 0)                        // want `LL1010: sink .*nothing that it is given tells the fence`
	st.Get("a")
	return nil
}

func numbers(ctx context.Context, b *book, st store) error {
	lease, err := b.locks.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer lease.Release(ctx)
	f := uint64(lease.Fence())
	b.number("a", f)
	st.Put("a", f+1)
	sink("a", uint64(lease.Fence()))
	return nil
}

func contexts(ctx context.Context, b *book, s *sinks.Store) error {
	return b.locks.Do(ctx, "a", lockrt.Options{}, func(inner context.Context, lease *lockrt.Lease) error {
		b.fromContext(inner, "a")
		b.fromContext(ctx, "a")                  // want `LL1010: b.fromContext .*nothing that it is given tells the fence`
		b.fromContext(context.Background(), "a") // want `LL1010: b.fromContext .*nothing that it is given tells the fence`
		b.blind(inner, "a")                      // want `LL1010: b.blind .*nothing that it is given tells the fence`
		s.SaveItem("a")                          // want `LL1010: s.SaveItem .*nothing that it is given tells the fence`
		s.Item()
		return nil
	})
}

func carriers(ctx context.Context, b *book, plain *sinks.Plain, bearer *sinks.Bearer) error {
	return b.locks.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, lease *lockrt.Lease) error {
		sinks.Put(plain, "a") // want `LL1010: sinks.Put .*nothing that it is given tells the fence`
		sinks.Put(bearer, "a")
		return nil
	})
}

// Who guards the transaction before has done what there is to do.
func guards(ctx context.Context, b *book, s *sinks.Store, tx *sql.Tx) error {
	return b.locks.Do(ctx, "a", lockrt.Options{}, func(ctx context.Context, lease *lockrt.Lease) error {
		if err := guard(tx, lease.Fence()); err != nil {
			return err
		}
		s.SaveItem("a")
		return nil
	})
}

func guard(tx *sql.Tx, f lockrt.Fence) error { return nil }

func nested(ctx context.Context, b *book) error {
	outer, err := b.locks.Acquire(ctx, "a", lockrt.Options{})
	if err != nil {
		return err
	}
	defer outer.Release(ctx)
	inner, err := b.locks.Acquire(ctx, "b", lockrt.Options{})
	if err != nil {
		return err
	}
	b.write(ctx, "a", outer.Fence())
	b.write(ctx, "b", inner.Fence())
	inner.Release(ctx)
	b.write(ctx, "b", inner.Fence()) // want `LL1010: b.write .*its fence is that of another lease`
	return nil
}

//lock:key=b:{item},ttl=10s
func (b *book) byDirective(ctx context.Context, item string, f lockrt.Fence) {
	b.write(ctx, item, f)
	b.write(ctx, item, 1) // want `LL1010: b.write writes under the lock from the wrapper byDirectiveWithLock at line \d+, but its fence is a constant`
}

// Nothing is locked here.
func outside(ctx context.Context, b *book) { b.write(ctx, "a", 0) }
