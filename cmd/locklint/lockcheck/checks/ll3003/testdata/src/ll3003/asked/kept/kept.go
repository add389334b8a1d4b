package kept

import (
	"context"

	"github.com/go-redsync/redsync/v4"
)

// Kept tells whether it is locked.
type Kept struct {
	M     *redsync.Mutex
	held  bool
	Quiet bool
}

func (k *Kept) Lock(ctx context.Context) error {
	if err := k.M.LockContext(ctx); err != nil {
		return err
	}
	k.held = true
	return nil
}

func (k *Kept) Held() bool { return k.held }

func (k *Kept) Loud() bool { return !k.Quiet }

func (k *Kept) Unlock(ctx context.Context) {
	k.held = false
	_, _ = k.M.UnlockContext(ctx)
}
