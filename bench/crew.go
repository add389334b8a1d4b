package main

import (
	"context"
	"errors"
	"os"
	"time"
)

// crew is a number of processes full of waiters for one key.
type crew struct {
	processes, waiters int           // waiters per process
	hold               time.Duration // how long each keeps the lock
}

// work starts the processes, lets them go all at once, calls during while they are at it, stops them when that returns,
// and returns what they found together.
func (cr crew) work(ctx context.Context, c contender, addr, key string, during func(ctx context.Context) error) (sum waitersFound, err error) {
	path, err := newGuardFile()
	if err != nil {
		return sum, err
	}
	defer os.Remove(path)
	members := make([]*worker, 0, cr.processes)
	defer func() {
		for _, w := range members {
			w.close()
		}
	}()
	for i := range cr.processes {
		w, err := startWorker(ctx, waitersWorker, waitersOrders{
			Contender: c.name, Addr: addr, Key: key, Guard: path,
			First: uint64(1 + i*cr.waiters), Waiters: cr.waiters, Hold: cr.hold,
		})
		if err != nil {
			return sum, err
		}
		members = append(members, w)
	}
	if err := each(members, (*worker).awaitReady); err != nil {
		return sum, err
	}
	if err := each(members, func(w *worker) error { return w.say("go") }); err != nil {
		return sum, err
	}
	if err := during(ctx); err != nil {
		return sum, err
	}
	if err := each(members, func(w *worker) error { return w.say("stop") }); err != nil {
		return sum, err
	}
	err = each(members, func(w *worker) error {
		var found waitersFound
		err := w.result(&found)
		sum.add(found)
		return err
	})
	if err != nil {
		return sum, err
	}
	return sum, checkGuardFile(path, c, sum.Acquired)
}

func each(members []*worker, do func(*worker) error) error {
	for _, w := range members {
		if err := do(w); err != nil {
			return err
		}
	}
	return nil
}

func (f *waitersFound) add(more waitersFound) {
	f.Acquired += more.Acquired
	f.Starved += more.Starved
	f.Commands += more.Commands
	f.Elapsed = max(f.Elapsed, more.Elapsed)
	f.Held += more.Held
	f.Waits = append(f.Waits, more.Waits...)
	f.Wakes = append(f.Wakes, more.Wakes...)
}

func checkGuardFile(path string, c contender, acquired int) error {
	g, unmap, err := openGuardFile(path)
	if err != nil {
		return err
	}
	return errors.Join(g.check(c.name, acquired), unmap())
}
