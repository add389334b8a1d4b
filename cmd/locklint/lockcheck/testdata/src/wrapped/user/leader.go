package user

import (
	"context"

	"wrapped/locks"
)

// A Leader resigns when it is told to, and else looks whether it leads.
type Leader struct {
	polite *locks.Polite
	tired  bool
	leads  bool
}

func (l *Leader) isTired() bool { return l.tired }

func (l *Leader) AcquireOnce(ctx context.Context) error {
	ok, err := l.polite.TryLock(ctx)
	l.leads = ok
	return err
}

func (l *Leader) Look(ctx context.Context) error {
	if l.isTired() {
		if err := l.polite.Unlock(ctx); err != nil {
			return err
		}
		l.tired = false
	}
	if !l.leads {
		return locks.ErrBusy
	}
	return nil
}

func (l *Leader) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if !l.leads {
			if err := l.AcquireOnce(ctx); err != nil {
				return err
			}
			continue
		}
		if err := l.Look(ctx); err != nil {
			return err
		}
	}
	return nil
}
