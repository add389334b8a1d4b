package redisstore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// notReady refuses the next requests for a lock as a server does whose slot moves.
type notReady struct{ left, refused atomic.Int64 }

func (n *notReady) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *notReady) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (n *notReady) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if isAcquire(cmd) && n.left.Add(-1) >= 0 {
			n.refused.Add(1)
			cmd.SetErr(reply("TRYAGAIN Multiple keys request during rehashing of slot"))
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

func isAcquire(cmd redis.Cmder) bool {
	args := cmd.Args()
	return len(args) > 1 && (args[1] == acquireScript.SHA || args[1] == acquireScript.Source)
}

// A server that is not ready is asked again for as long as the caller has time.
func TestSession_Acquire_serverIsNotReady(t *testing.T) {
	t.Parallel()
	const refusals = 3 * askRetries
	for name, c := range map[string]struct {
		wait time.Duration
		want int64 // refusals
	}{
		"no wait": {0, 1 + askRetries},
		"a wait":  {lockrt.Forever, refusals},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s, _ := r.newSession(Config{})
			r.mustAcquire(s, "before") // the server's clock is known
			r.release("before", 0)
			server := &notReady{}
			server.left.Store(refusals)
			r.client.AddHook(server)
			_, err := s.Acquire(r.ctx, lockrt.Request{Key: "k", ID: "a", TTL: time.Minute, Wait: c.wait})
			if server.refused.Load() != c.want {
				t.Errorf("it was refused %d times, want %d; it ended with %v", server.refused.Load(), c.want, err)
			}
			if (err == nil) != (c.want == refusals) {
				t.Errorf("acquire: %v", err)
			}
		})
	}
}
