//matrix:setup t := lk.Tok()
//matrix:take ok, err := s.locks.Rdb.SetNX(ctx, "lock:"+id, t, time.Second).Result()
//matrix:refused err != nil || !ok
//matrix:error err
//matrix:release lk.Rel.Run(ctx, s.locks.Rdb, []string{"lock:" + id}, t)

package lk

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

var Rel = redis.NewScript("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0")

func Tok() string { b := make([]byte, 8); rand.Read(b); return hex.EncodeToString(b) }

type Locks struct{ Rdb *redis.Client }
