package zkstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/percent"
)

// child is a contender, by its name, or a node that keeps the lock.
type child struct {
	name   string
	id     string
	number int64 // that ZooKeeper added
	zxid   int64 // of its creation; 0: it was not asked for
}

// contendersOf takes apart the names of a lock's children. Names of others are left out.
func contendersOf(names []string) (contenders []child, kept []string) {
	for _, name := range names {
		if strings.HasPrefix(name, keptMark) {
			if _, err := percent.Unescape(name[len(keptMark):]); err == nil && name != keptMark {
				kept = append(kept, name)
			}
			continue
		}
		at := strings.LastIndex(name, numberMark)
		if at < 0 {
			continue
		}
		id, err := percent.Unescape(name[:at])
		number, err2 := strconv.ParseInt(name[at+len(numberMark):], 10, 64)
		if err == nil && err2 == nil && escape(id) == name[:at] {
			contenders = append(contenders, child{name: name, id: id, number: number})
		}
	}
	return contenders, kept
}

// isOrdered reports whether the numbers of contenders tell their order. ZooKeeper counts the children that a node ever
// had in 32 bits. At the end of that the numbers repeat, or begin anew below zero.
func isOrdered(all []child) bool {
	return !slices.ContainsFunc(all, func(c child) bool { return c.number < 0 || c.number >= math.MaxInt32 })
}

// order sorts contenders by the time of their creation. Only if their numbers do not tell it, it asks for each of them.
func (l *link) order(ctx context.Context, lock string, all []child) ([]child, error) {
	if len(all) < 2 {
		return all, nil
	}
	if isOrdered(all) {
		slices.SortFunc(all, func(a, b child) int { return cmp.Compare(a.number, b.number) })
		return all, nil
	}
	stats, err := each(ctx, l, all, func(ctx context.Context, c child) (*zk.Stat, error) {
		return l.stat(ctx, lock+"/"+c.name)
	})
	if err != nil {
		return nil, err
	}
	var there []child
	for i, c := range all {
		if stats[i] != nil {
			c.zxid = stats[i].Czxid
			there = append(there, c)
		}
	}
	slices.SortFunc(there, func(a, b child) int { return cmp.Compare(a.zxid, b.zxid) })
	return there, nil
}

// asking is how many reads of one call are under way at a time.
const asking = 16

// each asks about several things at a time.
func each[In, Out any](
	ctx context.Context, l *link, in []In, ask func(context.Context, In) (Out, error),
) (out []Out, err error) {
	out = make([]Out, len(in))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next, done := make(chan int, len(in)), make(chan error, asking)
	for i := range in {
		next <- i
	}
	close(next)
	workers := min(asking, len(in))
	for range workers {
		l.s.calls.Start(func() {
			var err error
			for i := range next {
				if err == nil {
					if out[i], err = ask(ctx, in[i]); err != nil {
						cancel(err)
					}
				}
			}
			done <- err
		})
	}
	for range workers {
		if failed := <-done; failed != nil && err == nil {
			err = failed
		}
	}
	return out, err
}
