package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/runtime/internal/workers"
)

// callTime bounds every call to the server whose caller has no nearer end.
const callTime = 5 * time.Second

var errNoAnswer = errors.New("the store did not answer within " + callTime.String())

// calls runs client calls on goroutines of their own: the client heeds deadlines, if it is told to, and cancellation
// only while it waits for a connection.
type calls struct {
	workers.Pool
	limits *limits
}

func newCalls() *calls { return &calls{limits: newLimits()} }

// run runs a script once, for as long as ctx lasts.
func (c *calls) run(
	ctx context.Context, client redis.UniversalClient, s *script, keys []string, args ...any,
) *redis.Cmd {
	return c.pipeline(ctx, client, s, []call{{Keys: keys, Args: args}})[0]
}

// pipeline runs a script for many sets of keys and arguments in one round trip, for as long as ctx lasts.
func (c *calls) pipeline(ctx context.Context, client redis.UniversalClient, s *script, all []call) []*redis.Cmd {
	if len(all) == 0 {
		return nil
	}
	var cmds []*redis.Cmd
	done := make(chan struct{})
	c.Start(func() {
		defer close(done)
		cmds = s.RunAll(ctx, client, all)
	})
	if err := workers.Await(ctx, ctx, done); err != nil {
		unanswered := make([]*redis.Cmd, len(all))
		for i := range unanswered {
			unanswered[i] = redis.NewCmd(ctx)
			unanswered[i].SetErr(err)
		}
		return unanswered
	}
	return cmds
}
