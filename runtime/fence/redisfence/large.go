package redisfence

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
)

const (
	// luaWords is how many words of a command pass through Lua, whose stack ends at 8,000.
	luaWords = 7000
	// largeTries is how often a large command is begun; each time another write with the same high-water mark came in
	// between.
	largeTries = 20
)

// doLarge runs a command that is too long for a script. WATCH makes the high-water mark's check, its raise and the
// command one step: EXEC does nothing if somebody has written the high-water mark since it was read.
func (r Redis) doLarge(ctx context.Context, resource string, f lockrt.Fence, key string, args []any) *redis.Cmd {
	if err := r.check(resource, f); err != nil {
		return failed(ctx, fmt.Errorf("fenced command: %w", err))
	}
	mark := r.MarkKey(resource)
	keys := []string{mark, key}
	for try := 1; ; try++ {
		var cmd *redis.Cmd
		err := r.Client.Watch(ctx, func(tx *redis.Tx) error {
			if err := r.judge(ctx, tx, resource, f); err != nil {
				return err
			}
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, mark, f.String(), r.Expiry)
				cmd = pipe.Do(ctx, args...)
				return nil
			})
			return err
		}, mark)
		switch {
		case errors.Is(err, redis.TxFailedErr) && try < largeTries && ctx.Err() == nil:
			continue
		case cmd != nil && !errors.Is(err, redis.TxFailedErr): // its error is the transaction's
			if err := cmd.Err(); err != nil {
				cmd.SetErr(r.explain(err, resource, f, keys))
			}
			return cmd
		}
		return failed(ctx, r.explain(err, resource, f, keys))
	}
}

// judge is the check of guard.lua.
func (r Redis) judge(ctx context.Context, tx *redis.Tx, resource string, f lockrt.Fence) error {
	seen, err := tx.Get(ctx, r.MarkKey(resource)).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return err
	}
	highest, err := strconv.ParseUint(seen, 10, 63)
	switch {
	case err != nil || lockrt.Fence(highest).String() != seen || highest == 0:
		return r.badMark(resource, fmt.Errorf("it holds no fence but %.64q", seen))
	case highest > uint64(f):
		return &fence.StaleError{Resource: resource, Given: f, Highest: lockrt.Fence(highest)}
	}
	return nil
}
