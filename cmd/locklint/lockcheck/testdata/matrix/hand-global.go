//matrix:setup t := lk.Tok()
//matrix:take ok := lk.Lock("lock:"+id, t)
//matrix:refused !ok
//matrix:error errors.New("busy")
//matrix:release lk.Unlock("lock:"+id, t)

package lk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/redis/go-redis/v9"
)

var rel = redis.NewScript("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0")

func Tok() string { b := make([]byte, 8); rand.Read(b); return hex.EncodeToString(b) }

var rdb *redis.Client

type Locks struct{}

func Lock(k, t string) bool {
	ok, _ := rdb.SetNX(context.Background(), k, t, time.Second).Result()
	return ok
}
func Unlock(k, t string) { rel.Run(context.Background(), rdb, []string{k}, t) }
