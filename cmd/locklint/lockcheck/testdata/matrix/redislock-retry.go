//matrix:setup var l *lk.Lock
//matrix:take err := lk.Retry(func() (err error) { l, err = s.locks.C.Obtain(ctx, "lock:"+id, time.Minute, nil); return err })
//matrix:refused err != nil
//matrix:error err
//matrix:release l.Release(ctx)

package lk

import (
	"errors"
	"time"

	"github.com/bsm/redislock"
)

type Lock = redislock.Lock

func Retry(f func() error) error {
	for i := 0; i < 5; i++ {
		if err := f(); err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errors.New("gave up")
}

type Locks struct{ C *redislock.Client }
