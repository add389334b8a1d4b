package lib

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func Audit(ctx context.Context, l *lockrt.Locker, id string) error {
	return l.Do(ctx, "account:"+id, lockrt.Options{}, func(context.Context, *lockrt.Lease) error { return nil })
}
