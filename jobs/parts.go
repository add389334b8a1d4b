package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// PartsError says that some parts of the store did not answer, as when one server of a Redis Cluster is away. The
// list that comes with it is what the others have told.
type PartsError struct {
	Parts []int // that did not answer, from 0 on
	Of    int   // how many there are
	Err   error // what one of them said
}

func (e *PartsError) Error() string {
	return fmt.Sprintf("%d of %d parts of the job store do not answer (%s), what is in them is missing: %v",
		len(e.Parts), e.Of, strings.Trim(fmt.Sprint(e.Parts), "[]"), e.Err)
}

func (e *PartsError) Unwrap() error { return e.Err }

// partsError is the error of a list of which some shards have failed, nil if none has, and not a PartsError if no part
// answers.
func (s *redisStore) partsError(failed map[int]error) error {
	byPart := make([]error, s.parts)
	for shard, why := range failed {
		byPart[shard%s.parts] = why
	}
	return partsErrorOf(byPart)
}

// isPartial reports whether errors say only of parts that do not answer.
func isPartial(err error) bool {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(several.Unwrap(), func(one error) bool { return !isPartial(one) })
	}
	var parts *PartsError
	return errors.As(err, &parts)
}

// partsErrorOf is the error of calls that were made for each part, nil if none has failed, and not a PartsError if all
// have.
func partsErrorOf(failed []error) error {
	var missing []int
	var err error
	for part, why := range failed {
		if why != nil {
			missing, err = append(missing, part), why
		}
	}
	if len(missing) == 0 || len(missing) == len(failed) {
		return err
	}
	return &PartsError{Parts: missing, Of: len(failed), Err: err}
}

// readAll has commands be added for each shard, and sends those for the shards of a part in one round trip. A part that
// does not answer keeps none of the others waiting, nor from having an answer. Each command has its own error.
func (s *redisStore) readAll(ctx context.Context, add func(pipe redis.Pipeliner, shard int)) {
	reads := make([]func(context.Context), s.parts)
	for part := range reads {
		pipe := s.client.Pipeline()
		for _, shard := range s.shardsOf(part) {
			add(pipe, shard)
		}
		reads[part] = func(ctx context.Context) { _, _ = pipe.Exec(ctx) }
	}
	all(ctx, reads...)
}

// all calls functions beside each other: where a part of the store is away each may take until ctx ends.
func all(ctx context.Context, calls ...func(context.Context)) {
	var calling sync.WaitGroup
	for _, call := range calls {
		calling.Go(func() { call(ctx) })
	}
	calling.Wait()
}
