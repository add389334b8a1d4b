package ll2002

import (
	"context"

	"github.com/gogf/gf/v2/database/gredis"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

const compareAndDelete = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

type zero struct{ r *redis.Redis }

func (z zero) lock(ctx context.Context, id, token string) (bool, error) {
	return z.r.SetnxExCtx(ctx, "lock:zero:"+id, token, 10)
}

func (z zero) unlock(ctx context.Context, id string) error {
	_, err := z.r.DelCtx(ctx, "lock:zero:"+id) // want `LL2002: DEL releases this lock without asking whose it is: if the SETNX at line 15 has expired`
	return err
}

func (z zero) both(id, token string) error {
	got, err := z.r.SetnxEx("both:"+id, token, 10)
	if err != nil || !got {
		return err
	}
	defer z.r.Del("both:" + id) // want `LL2002: .*`
	return sell()
}

func (z zero) script(id, token string) error {
	got, err := z.r.SetnxEx("lock:script:"+id, token, 10)
	if err != nil || !got {
		return err
	}
	defer z.r.Eval(compareAndDelete, []string{"lock:script:" + id}, token)
	return sell()
}

var compares = redis.NewScript(compareAndDelete)

func (z zero) loaded(id, token string) error {
	got, err := z.r.SetnxEx("lock:loaded:"+id, token, 10)
	if err != nil || !got {
		return err
	}
	defer z.r.ScriptRun(compares, []string{"lock:loaded:" + id}, token)
	return sell()
}

type frame struct{ r *gredis.Redis }

func (f frame) tryLock(ctx context.Context, id, token string) (bool, error) {
	v, err := f.r.Do(ctx, "SET", "lock:frame:"+id, token, "NX", "EX", 10)
	if err != nil {
		return false, err
	}
	return v.String() == "OK", nil
}

func (f frame) unlock(ctx context.Context, id string) {
	_, _ = f.r.Del(ctx, "lock:frame:"+id) // want `LL2002: .*line 55`
}

func (f frame) option(ctx context.Context, id, token string) error {
	ttl := int64(10)
	v, err := f.r.Set(ctx, "option:lock:"+id, token, gredis.SetOption{TTLOption: gredis.TTLOption{EX: &ttl}, NX: true})
	if err != nil || v.String() != "OK" {
		return err
	}
	defer f.r.Del(ctx, "option:lock:"+id) // want `LL2002: .*`
	return sell()
}

func (f frame) setNX(ctx context.Context, id, token string) error {
	got, err := f.r.SetNX(ctx, "setnx:lock:"+id, token)
	if err != nil || !got {
		return err
	}
	if _, err := f.r.Expire(ctx, "setnx:lock:"+id, 10); err != nil {
		return err
	}
	defer f.r.Del(ctx, "setnx:lock:"+id) // want `LL2002: .*`
	return sell()
}

func (f frame) compares(ctx context.Context, id, token string) error {
	v, err := f.r.Do(ctx, "SET", "lock:compares:"+id, token, "NX", "EX", 10)
	if err != nil || v.String() != "OK" {
		return err
	}
	defer f.r.Eval(ctx, compareAndDelete, 1, []string{"lock:compares:" + id}, []interface{}{token})
	return sell()
}

func (f frame) plainSet(ctx context.Context, id string) error {
	if _, err := f.r.Set(ctx, "cache:"+id, "x"); err != nil {
		return err
	}
	_, err := f.r.Del(ctx, "cache:"+id)
	return err
}

func sell() error { return nil }
