package ll2003

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestTested(t *testing.T) {
	rdb := &redis.Client{}
	_, _ = NewTested(rdb, "test-key", "test-value").Lock(context.Background())

	p := newPreset(rdb)
	p.token = "of the test"
	_, _ = p.Lock(context.Background(), "lock:preset")

	s := &stamped{rdb: rdb, key: "lock:stamped", token: strconv.FormatInt(time.Now().Unix(), 10)}
	_, _ = s.Lock(context.Background())
}
