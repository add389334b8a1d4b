package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// readers is one key that many read and few write. A turn lasts for stay.
type readers struct {
	rounds, goroutines, processes int
	slice, stay                   time.Duration
}

var (
	readersFull  = readers{rounds: 5, goroutines: 64, processes: 10, slice: 2 * time.Second, stay: time.Millisecond}
	readersQuick = readers{rounds: 1, goroutines: 16, processes: 4, slice: 200 * time.Millisecond, stay: time.Millisecond}
)

const (
	turnsOfOne  = "turns/s, one process"
	turnsOfMany = "turns/s, many processes of 1 goroutine"
	writersWait = "95/5: writers' p99 (ms)"
	starvedOf   = "starved"
)

var (
	readersKind = contender{name: "lockgen-read"}
	mixedKind   = contender{name: "lockgen-95/5"}
	mixedIdeal  = contender{name: "ideal-95/5"}
)

func (r readers) run(ctx context.Context, b *bench) error {
	return withServer(ctx, func(server *testenv.RedisServer) error {
		order := []contender{lockgenDefault, readersKind, mixedKind, mixedIdeal}
		res, err := b.alternate(ctx, "readers", r.rounds, order, func(ctx context.Context, c contender, _ int) ([]value, error) {
			at := address{addr: server.Addr()}
			switch c.name {
			case mixedKind.name, mixedIdeal.name:
				return r.mixed(ctx, at, c.name == mixedIdeal.name)
			case readersKind.name:
				return r.turns(ctx, at, lockrt.Options{Mode: lockrt.Read})
			}
			return r.turns(ctx, at, lockrt.Options{})
		})
		if err != nil {
			return err
		}
		reads := readersKind.name
		b.report.atLeast("readers", fmt.Sprintf("%d goroutines: ≥ 20× the exclusive lock", r.goroutines),
			res.compare(b, reads, lockgenDefault.name, turnsOfOne), 20)
		b.report.atLeast("readers", fmt.Sprintf("%d processes: ≥ 3× the exclusive lock", r.processes),
			res.compare(b, reads, lockgenDefault.name, turnsOfMany), 3)
		b.report.atMost("readers", "95/5: writers' p99 ≤ 1.5× the queue without a server",
			res.compare(b, mixedKind.name, mixedIdeal.name, writersWait), 1.5)
		b.report.atMost("readers", "95/5: nobody starves", res.of(mixedKind.name, starvedOf), 0)
		return nil
	})
}

func (r readers) turns(ctx context.Context, at address, o lockrt.Options) ([]value, error) {
	one, err := r.turnsOf(ctx, at, o, 1, r.goroutines)
	if err != nil {
		return nil, err
	}
	many, err := r.turnsOf(ctx, at, o, r.processes, r.processes)
	if err != nil {
		return nil, err
	}
	return []value{{turnsOfOne, one}, {turnsOfMany, many}}, nil
}

func (r readers) turnsOf(ctx context.Context, at address, o lockrt.Options, processes, goroutines int) (float64, error) {
	all, err := openKinds(at, processes, o)
	if err != nil {
		return 0, err
	}
	var w inside
	made, err := hold(ctx, goroutines, r.slice, r.stay, &w, func(i, _ int) (locks, bool) {
		return all[i%processes], o.Mode == lockrt.Write
	})
	if err = errors.Join(err, w.check(int64(goroutines)), closeKinds(all)); err != nil {
		return 0, err
	}
	return perSecond(made.total(), made.elapsed), nil
}

// mixed lets every twentieth turn write.
func (r readers) mixed(ctx context.Context, at address, inMemory bool) ([]value, error) {
	all, err := openKinds(at, r.processes, lockrt.Options{})
	if inMemory {
		err = errors.Join(err, closeKinds(all))
		if err == nil {
			all, err = ideal(r.processes)
		}
	}
	if err != nil {
		return nil, err
	}
	var w inside
	made, err := hold(ctx, r.goroutines, r.slice, r.stay, &w, func(i, turn int) (locks, bool) {
		if (turn+i)%20 == 0 {
			return all[i%r.processes], true
		}
		return all[i%r.processes].as(lockrt.Options{Mode: lockrt.Read}), false
	})
	if err = errors.Join(err, w.check(int64(r.goroutines)), closeKinds(all)); err != nil {
		return nil, err
	}
	return []value{{writersWait, millisOf(quantile(made.waited, 0.99))}, {starvedOf, float64(made.starved())}}, nil
}

func openKinds(at address, n int, o lockrt.Options) (all []*kindLocks, err error) {
	for range n {
		l, err := openKind(at, o)
		if err != nil {
			return nil, errors.Join(err, closeKinds(all))
		}
		all = append(all, l)
	}
	return all, nil
}

func closeKinds(all []*kindLocks) (err error) {
	for _, l := range all {
		err = errors.Join(err, l.close())
	}
	return err
}
