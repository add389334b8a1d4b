// Package broken does not compile: its wrapper has not been generated, because its directive is wrong.
package broken

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

//lock:key=order:{id},ttl=30
func orderLocked(ctx context.Context, locks *lockrt.Locker, id int64) error { return nil }

func use(ctx context.Context, locks *lockrt.Locker) error { return order(ctx, locks, 1) }
