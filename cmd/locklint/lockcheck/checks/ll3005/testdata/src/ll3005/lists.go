package ll3005

import (
	"context"

	"github.com/go-redsync/redsync/v4"
)

// Those that were locked before are rolled back.

func lockAll(ctx context.Context, ms []*redsync.Mutex) error {
	for i, m := range ms {
		if err := m.LockContext(ctx); err != nil {
			for j := i - 1; j >= 0; j-- {
				_, _ = ms[j].Unlock()
			}
			return err
		}
	}
	return nil
}

type named struct{ m *redsync.Mutex }

func lockNamed(ctx context.Context, all []named) error {
	for i := range all {
		if err := all[i].m.LockContext(ctx); err != nil {
			for j := range i {
				_, _ = all[j].m.Unlock()
			}
			return err
		}
	}
	return nil
}
