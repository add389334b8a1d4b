package ll3008

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// A library behind an interface that is there for tests.

type obtainer interface {
	Obtain(ctx context.Context, key string, ttl time.Duration, opt *redislock.Options) (*redislock.Lock, error)
}

type mockObtainer struct{ obtainer }

type ported struct{ locks obtainer }

func newPorted(c *redislock.Client) *ported { return &ported{locks: c} }

func (p *ported) run(ctx context.Context) error {
	lock, err := p.locks.Obtain(ctx, "ported", time.Minute, nil)
	if err != nil {
		return err
	}
	defer lock.Release(ctx) // want `LL3008: lock.Release is given the caller's context`
	return work()
}
