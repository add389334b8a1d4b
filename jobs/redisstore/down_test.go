package redisstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/redisstore"
)

// TestStore_texts asks a server that is not there: what was tried stands in the error once, with whoever was
// asked.
func TestStore_texts(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	ctx, store := context.Background(), redisstore.New(client, "lock")
	_, waiting := store.Waiting(ctx, 1)
	_, paused := store.Pause(ctx, "j", jobs.Pause{})
	_, resumed := store.Resume(ctx, "j", 1, jobs.Run{}, 1)
	for want, err := range map[string]error{
		"write its pause in Redis: ":       paused,
		"end its pause in Redis: ":         resumed,
		"leave a notice in Redis: ":        store.Cancel(ctx, jobs.Notice{Job: "j", ID: "j@1"}),
		"store it in Redis: ":              store.Put(ctx, jobs.OneOff{ID: "o", Handler: "h", At: time.Now()}),
		"remove it in Redis: ":             store.Withdraw(ctx, "o"),
		"list one-off jobs in Redis: ":     waiting,
		"end a session in Redis: ":         store.Leave(ctx, "s"),
		"give a sign of life in Redis: ":   heartbeatError(ctx, store),
		`claim a tick of job "j" in Redis`: store.Claim(ctx, []jobs.Claim{{Job: "j"}})[0].Err,
	} {
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "in Redis") != 1 ||
			!strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("error %v, want %q and the address", err, want)
		}
	}
}

func heartbeatError(ctx context.Context, store jobs.Store) error {
	_, err := store.Heartbeat(ctx, jobs.Heartbeat{Session: "s"})
	return err
}
