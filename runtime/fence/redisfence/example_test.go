package redisfence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/redisfence"
)

// The resource is called like the key, so that both share a slot in Redis Cluster.
func ExampleRedis_Do() {
	store := func(ctx context.Context, client redis.UniversalClient, lease *lockrt.Lease, cart string) error {
		guarded := redisfence.Redis{Client: client}
		err := guarded.Do(ctx, "cart:42", lease.Fence(), "SET", "cart:42", cart).Err()
		if errors.Is(err, fence.ErrStale) {
			return fmt.Errorf("somebody else has the cart now: %w", err)
		}
		return err
	}
	_ = store
}
