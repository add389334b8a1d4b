package ll2002

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestDropLock(t *testing.T) {
	ctx, rdb := context.Background(), &redis.Client{}
	if !rdb.SetNX(ctx, "lock:dropped", "1", time.Minute).Val() {
		t.Fatal("the key is there")
	}
	dropLock(ctx, rdb)
}
