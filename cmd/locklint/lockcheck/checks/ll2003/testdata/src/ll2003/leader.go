package ll2003

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// A lock that is prolonged instead of being released needs a token, too.

func claim(ctx context.Context, rdb *redis.Client, id, token string) {
	owner, other := false, false
	for ; ; time.Sleep(time.Second) {
		if !owner {
			owner = rdb.SetNX(ctx, "flight-lock:"+id, "meow", time.Minute).Val() // want `LL2003: the token that SetNX stores is the constant "meow"`
		} else {
			rdb.Expire(ctx, "flight-lock:"+id, time.Minute)
		}
		if !other {
			other = rdb.SetNX(ctx, "other-lock:"+id, token, time.Minute).Val()
		} else {
			rdb.Expire(ctx, "other-lock:"+id, time.Minute)
		}
	}
}

// A flag that is kept alive is none.
func online(ctx context.Context, rdb *redis.Client, id string) {
	for ; ; time.Sleep(time.Second) {
		if !rdb.SetNX(ctx, "online:"+id, "yes", time.Minute).Val() {
			rdb.Expire(ctx, "online:"+id, time.Minute)
		}
	}
}
