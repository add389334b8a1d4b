package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// readerCount lets in readers together and a writer alone. Who writes waits until
// the count of readers is zero. It fails in two ways.
//
//	A: reads, and before it leaves C reads, and before C leaves A reads again
//	B: wants to write: the count is never 0
//
//	A: reads, and wants to write what it has read: waits until it is the only one
//	B: does the same: each waits for the other to leave
type readerCount struct {
	rdb *redis.Client
	key string
}

func (r readerCount) Read(ctx context.Context) error { return r.rdb.Incr(ctx, r.key).Err() }

func (r readerCount) Leave(ctx context.Context) error { return r.rdb.Decr(ctx, r.key).Err() }

// MayWrite tells whether no more than so many read.
func (r readerCount) MayWrite(ctx context.Context, readers int) (bool, error) {
	n, err := r.rdb.Get(ctx, r.key).Int()
	if errors.Is(err, redis.Nil) {
		return true, nil
	}
	return n <= readers, err
}

// changes is how often readers take turns, and how often two of them ask to write. It would go on like that.
const changes = 20

// writerStarves lets two readers take turns so that one of them is always inside.
func writerStarves(ctx context.Context, l *lab.Lab) (Outcome, error) {
	r := readerCount{l.Client().Client, l.Key("catalog")}
	if err := r.Read(ctx); err != nil {
		return Outcome{}, err
	}
	for range changes {
		may, err := r.MayWrite(ctx, 0)
		if err != nil || may {
			return Outcome{Safe: may, What: "the writer got in"}, err
		}
		if err := errors.Join(r.Read(ctx), r.Leave(ctx)); err != nil { // the next comes before the last leaves
			return Outcome{}, err
		}
	}
	return failed("the writer was refused %d times: somebody always reads", changes)
}

// writerHasItsTurn is the same with mode=read: who comes after the writer waits behind it.
func writerHasItsTurn(ctx context.Context, l *lab.Lab) (Outcome, error) {
	p, err := processes(l, "A", "B", "C")
	if err != nil {
		return Outcome{}, err
	}
	first, err := enterBy(ctx, l, p[0], p[0].read)
	if err != nil {
		return Outcome{}, err
	}
	writer := startBy(ctx, l, p[1], p[1].write)
	if err := waiters(ctx, l, p[0], 1); err != nil {
		return Outcome{}, err
	}
	next := startBy(ctx, l, p[2], p[2].read)
	if err := waiters(ctx, l, p[0], 2); err != nil {
		return Outcome{}, err
	}
	if err := errors.Join(first.leave(), writer.await(ctx)); err != nil {
		return failed("%v", err)
	}
	select {
	case <-next.reached:
		return failed("a reader is inside beside the writer")
	default:
	}
	if err := errors.Join(writer.leave(), next.await(ctx), next.leave()); err != nil {
		return failed("%v", err)
	}
	return safe("the reader that came later waited behind the writer")
}

// upgradesWait lets two readers ask to be the only one.
func upgradesWait(ctx context.Context, l *lab.Lab) (Outcome, error) {
	r := readerCount{l.Client().Client, l.Key("catalog")}
	if err := errors.Join(r.Read(ctx), r.Read(ctx)); err != nil {
		return Outcome{}, err
	}
	for range changes {
		if may, err := r.MayWrite(ctx, 1); err != nil || may {
			return Outcome{Safe: may, What: "one of them got in"}, err
		}
	}
	return failed("each of the two waits for the other to leave, %d times", changes)
}

// upgradesAreRefused is the same with mode=read: who reads cannot ask to write.
func upgradesAreRefused(ctx context.Context, l *lab.Lab) (Outcome, error) {
	p, err := processes(l, "A", "B")
	if err != nil {
		return Outcome{}, err
	}
	both := []*visit{}
	for _, reader := range p {
		v, err := enterBy(ctx, l, reader, reader.read)
		if err != nil {
			return Outcome{}, err
		}
		both = append(both, v)
	}
	for i, v := range both {
		err := p[i].write(v.ctx, job, func(context.Context) error { return nil })
		if !errors.Is(err, lockrt.ErrUpgrade) {
			return failed("asking to write while reading: %v", err)
		}
	}
	for i, v := range both {
		if err := v.leave(); err != nil {
			return failed("%v", err)
		}
		if i == 0 {
			continue
		}
		if err := p[i].write(ctx, job, func(context.Context) error { return nil }); err != nil {
			return failed("%v", err)
		}
	}
	return safe("both heard of it at once, and wrote after they had left")
}

func processes(l *lab.Lab, names ...string) ([]process, error) {
	var all []process
	for _, name := range names {
		p, err := newProcess(l, name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// waiters waits until so many stand in line for the catalog.
func waiters(ctx context.Context, l *lab.Lab, p process, n int) error {
	key, err := lockrt.BuildKey(lockrt.KeyText("catalog:"), lockrt.KeyString("id", job))
	if err != nil {
		return err
	}
	return l.Until(fmt.Sprintf("%d wait", n), func() (bool, error) {
		info, err := p.locks.Holder(ctx, key)
		return len(info.Waiters) == n, err
	})
}
