// Package general has shapes that several checks meet: the same key in other words, keys in lists, scripts by name, what
// a lock is made of in another function.
package general

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

type Orders struct{ rdb *redis.Client }

// The same key, spelled in two ways.

func (o *Orders) LockOrder(ctx context.Context, id int) (bool, error) {
	return o.rdb.SetNX(ctx, "order:lock:"+strconv.Itoa(id), 1, time.Minute).Result() // want `LL2003: the token that SetNX stores`
}

func (o *Orders) ReleaseOrder(ctx context.Context, id int) error {
	return o.rdb.Del(ctx, fmt.Sprintf("order:lock:%d", id)).Err() // want `LL2002: DEL releases this lock`
}

func (o *Orders) grab(ctx context.Context, id int64) bool {
	key := strings.Join([]string{"lock", "cart", strconv.FormatInt(id, 10)}, ":")
	return o.rdb.SetNX(ctx, key, "x", time.Minute).Val() // want `LL2003: the token that SetNX stores`
}

func (o *Orders) drop(ctx context.Context, id int64) {
	o.rdb.Del(ctx, "lock:cart:"+fmt.Sprint(id)) // want `LL2002: DEL releases this lock`
}

// Another text of the same number is another key.

func (o *Orders) mark(ctx context.Context, id int) bool {
	return o.rdb.SetNX(ctx, fmt.Sprintf("lock:row:%08d", id), 1, time.Minute).Val()
}

func (o *Orders) unmark(ctx context.Context, id int) {
	o.rdb.Del(ctx, fmt.Sprintf("lock:row:%d", id))
}
