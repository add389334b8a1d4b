package redisstore

import (
	"context"
	"fmt"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Break implements lockrt.Breaker.
func (s *session) Break(ctx context.Context, b lockrt.Breaking) error {
	id, force := b.ID, 0
	if id == "" {
		id = "-"
	}
	if b.Force {
		force = 1
	}
	reason := fmt.Sprintf("broken by %s: %s", s.Node, b.Reason)
	keys := s.space.keys(b.Key).all()
	done, err := s.once(ctx, func(limit context.Context) (bool, bool, error) {
		n, err := s.runOnce(ctx, limit, breakScript, keys, id, b.Fence.Epoch(), reason, s.retention.Milliseconds(), force)
		return n == 1, false, err
	})
	switch {
	case err != nil:
		return err
	case !done:
		return lockrt.ErrNotHeld
	}
	return nil
}
