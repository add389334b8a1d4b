package recipes

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

func rueidisSetnxExpire(ctx context.Context, c rueidis.Client, key string) error {
	ok, err := c.Do(ctx, c.B().Setnx().Key(key).Value("1").Build()).AsBool() // want `LL2005` `LL2003`
	if err != nil || !ok {
		return errBusy
	}
	c.Do(ctx, c.B().Expire().Key(key).Seconds(10).Build())
	defer c.Do(ctx, c.B().Del().Key(key).Build()) // want `LL2002`
	return nil
}

func rueidisIgnored(ctx context.Context, c rueidis.Client, key, token string) error {
	if err := c.Do(ctx, c.B().Setnx().Key(key).Value(token).Build()).Error(); err != nil { // want `LL2001: .*only the error` `LL2007`
		return err
	}
	defer c.Do(ctx, c.B().Del().Key(key).Build())
	return nil
}

func rueidisMulti(ctx context.Context, c rueidis.Client, key, token string) error {
	reply := c.DoMulti(ctx, // want `LL2005: SETNX and PEXPIRE .* arrive together in MULTI`
		c.B().Multi().Build(),
		c.B().Setnx().Key(key).Value(token).Build(),
		c.B().Pexpire().Key(key).Milliseconds(10000).Build(),
		c.B().Exec().Build())
	if reply[3].Error() != nil {
		return errBusy
	}
	defer c.Do(ctx, c.B().Del().Key(key).Build()) // want `LL2002`
	return nil
}

func rueidisArbitrary(ctx context.Context, c rueidis.Client, key, token string) error {
	set := c.B().Arbitrary("SET").Keys(key).Args(token, "NX", "PX", "10000").Build()
	if err := c.Do(ctx, set).Error(); err != nil {
		return err
	}
	defer c.Do(ctx, c.B().Del().Key(key).Build()) // want `LL2002`
	return nil
}

func rueidisRight(ctx context.Context, c rueidis.Client, key, token string) error {
	if err := c.Do(ctx, c.B().Set().Key(key).Value(token).Nx().Px(10*time.Second).Build()).Error(); err != nil {
		return err
	}
	const unlock = `if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) end return 0`
	defer c.Do(ctx, c.B().Eval().Script(unlock).Numkeys(1).Key(key).Arg(token).Build())
	return nil
}
