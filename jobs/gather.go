package jobs

import (
	"context"

	"github.com/lockgen/lockgen/internal/combine"
)

// gatherSize is how many elements one call has at the most: it is cut into scripts for all the shards.
const gatherSize = 2048

// gatherer sends the elements of concurrent callers together: one goes out alone, and others share calls meanwhile. So a
// lone run pays nothing for it, and when thousands begin in the same second they share round trips.
type gatherer[T any] struct{ combine.Combiner[*gathered[T]] }

// gathered is one element.
type gathered[T any] struct {
	combine.Ticket
	element T
	err     error
}

func newGatherer[T any](send func(context.Context, []T) []error) *gatherer[T] {
	g := new(gatherer[T])
	g.Alone, g.Lanes, g.Most, g.Time = 1, 1, gatherSize, storeTimeout
	g.Start = func(f func()) { go f() } // it ends soon after the last of its callers has an answer
	g.Send = func(ctx context.Context, batch []*gathered[T]) bool {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		elements := make([]T, len(batch))
		for i, b := range batch {
			elements[i] = b.element
		}
		for i, err := range send(ctx, elements) {
			batch[i].err = err
		}
		return true
	}
	return g
}

// do sends one element and returns its answer, or an error if the store has not answered within storeTimeout of the
// call that it went out with, or ctx has ended. After an error it may have reached the store, and may still do so.
func (g *gatherer[T]) do(ctx context.Context, element T) error {
	one := &gathered[T]{element: element}
	if err := g.Do(ctx, one); err != nil {
		return err
	}
	return one.err
}
