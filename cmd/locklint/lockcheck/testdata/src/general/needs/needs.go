// Package needs declares what it needs of another package's type.
package needs

import (
	"context"
	"time"

	"general/cache"
)

type keys interface {
	SetIfAbsent(ctx context.Context, key string, value any, ttl time.Duration) (bool, error)
	Remove(ctx context.Context, keys ...string) error
}

type Job struct{ keys keys }

func NewJob(c *cache.Client) *Job { return &Job{keys: c} }

func (j *Job) Run(ctx context.Context, id string, work func()) error {
	ok, err := j.keys.SetIfAbsent(ctx, "job:lock:"+id, "1", time.Minute) // want `LL2003: the token that SetNX`
	if err != nil || !ok {
		return err
	}
	defer j.keys.Remove(ctx, "job:lock:"+id) // want `LL2002: DEL \(through Client.Remove\) releases this lock` `LL3008: j.keys.Remove is given the caller's context`
	work()
	return nil
}
