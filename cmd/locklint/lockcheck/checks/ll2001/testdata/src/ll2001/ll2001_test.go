package ll2001

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestWarm(t *testing.T) {
	rdb := &redis.Client{}
	rdb.Del(context.Background(), "lock:warm")
}
