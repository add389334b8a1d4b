package ll1015

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

func used(ctx context.Context, rdb *redis.Client) {
	if !rdb.SetNX(ctx, "lock:a", 1, time.Minute).Val() {
		return
	}
	defer rdb.Del(ctx, "lock:a") //locklint:ignore LL2002 it is a test
}

func usedAbove(ctx context.Context, rdb *redis.Client) {
	if !rdb.SetNX(ctx, "lock:b", 1, time.Minute).Val() {
		return
	}
	//locklint:ignore ll2002 it is a test
	defer rdb.Del(ctx, "lock:b")
}

// usedForAll has one comment for the whole function.
//
//locklint:ignore LL2002 it is a test
func usedForAll(ctx context.Context, rdb *redis.Client) {
	if !rdb.SetNX(ctx, "lock:c", 1, time.Minute).Val() {
		return
	}
	defer rdb.Del(ctx, "lock:c")
}

func foreign(ctx context.Context, rdb *redis.Client) {
	if !rdb.SetNX(ctx, "lock:d", 1, time.Minute).Val() {
		return
	}
	defer rdb.Del(ctx, "lock:d") //nolint:locklint // not this check's business whether it is needed
	rdb.Get(ctx, "lock:d")       //nolint:locklint
}

func partly(ctx context.Context, rdb *redis.Client) {
	if !rdb.SetNX(ctx, "lock:e", 1, time.Minute).Val() {
		return
	}
	//locklint:ignore LL2001,LL2002,LL2005 reason // want `LL1015: there is no LL2001, LL2005 here to silence: remove the ID`
	defer rdb.Del(ctx, "lock:e")
}

//locklint:ignore LL2002 this function had a lock once // want `LL1015: there is no LL2002 here to silence: remove the comment`
func unused(ctx context.Context, rdb *redis.Client) {
	rdb.Get(ctx, "a") //locklint:ignore LL2002 nor here // want `LL1015: there is no LL2002 here to silence`

	//locklint:ignore LL2005 nor here // want `LL1015: there is no LL2005 here to silence`
	rdb.Get(ctx, "a")

	//locklint:ignore LL2005,LL1015 with other build tags it is needed
	rdb.Get(ctx, "a")
}

func malformed(ctx context.Context, rdb *redis.Client) {
	// The missing reason cannot be shown with a want comment behind it: see TestLL1015_withoutReason.
	rdb.Get(ctx, "a") //locklint:ignore LL9999 reason // want `LL1015: there is no check LL9999: locklint -h lists them`
}
