//matrix:setup tok := lk.Tok()
//matrix:take err := s.locks.Lock(ctx, "lock:"+id, tok)
//matrix:refused err != nil
//matrix:error err
//matrix:release s.locks.Unlock(ctx, "lock:"+id, tok)

package lk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var ErrBusy = errors.New("busy")

var rel = redis.NewScript("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0")

func Tok() string { b := make([]byte, 8); rand.Read(b); return hex.EncodeToString(b) }

type Locks struct{ rdb *redis.Client }

func (s *Locks) Lock(ctx context.Context, k, t string) error {
	for i := 0; i < 10; i++ {
		ok, err := s.rdb.SetNX(ctx, k, t, time.Minute).Result()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return ErrBusy
}

func (s *Locks) Unlock(ctx context.Context, k, t string) error {
	return rel.Run(ctx, s.rdb, []string{k}, t).Err()
}
