package ll2004

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

func rueidisWrong(ctx context.Context, c rueidis.Client, token string) error {
	if err := c.Do(ctx, c.B().Set().Key("lock:u1").Value(token).Nx().Px(time.Minute).Build()).Error(); err != nil {
		return err
	}
	owner, err := c.Do(ctx, c.B().Get().Key("lock:u1").Build()).ToString()
	if err != nil || owner != token {
		return err
	}
	return c.Do(ctx, c.B().Del().Key("lock:u1").Build()).Error() // want `LL2004: DEL comes after the GET`
}

func rueidisRight(ctx context.Context, c rueidis.Client, token string) error {
	if err := c.Do(ctx, c.B().Set().Key("lock:u2").Value(token).Nx().Px(time.Minute).Build()).Error(); err != nil {
		return err
	}
	return c.Dedicated(func(d rueidis.DedicatedClient) error {
		d.Do(ctx, d.B().Watch().Key("lock:u2").Build())
		if owner, err := d.Do(ctx, d.B().Get().Key("lock:u2").Build()).ToString(); err != nil || owner != token {
			return err
		}
		d.DoMulti(ctx, d.B().Multi().Build(), d.B().Del().Key("lock:u2").Build(), d.B().Exec().Build())
		return nil
	})
}

var rueidisUnlock = rueidis.NewLuaScript(`if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) else return 0 end`)

func rueidisScript(ctx context.Context, c rueidis.Client, token string) error {
	ok, err := c.Do(ctx, c.B().Setnx().Key("lock:u3").Value(token).Build()).AsBool()
	if err != nil || !ok {
		return errBusy
	}
	return rueidisUnlock.Exec(ctx, c, []string{"lock:u3"}, []string{token}).Error()
}
