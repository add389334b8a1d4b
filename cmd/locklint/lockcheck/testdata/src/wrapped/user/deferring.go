package user

import (
	"context"

	"github.com/bsm/redislock"

	"wrapped/locks"
)

// Wrappers that defer something themselves.

func dropsFlag(ctx context.Context, e locks.Exclusive) {
	e.TryLock(ctx) // want `LL3002: the outcome of e.TryLock is ignored`
	defer e.Unlock()
	work()
}

func asksFlag(ctx context.Context, e locks.Exclusive) {
	if !e.TryLock(ctx) {
		return
	}
	defer e.Unlock()
	work()
}

func asksBounded(ctx context.Context, b *locks.Bounded) {
	if !b.TryLock(ctx) { // want `LL3002: when b.TryLock fails`
		println("busy")
	}
	defer b.Unlock() // want `LL3005: b.Unlock runs also when b.TryLock at line 28 has failed`
	work()
}

func onlyError(ctx context.Context, p *locks.Polite) error {
	_, err := p.TryLock(ctx) // want `LL3002: the outcome of p.TryLock is ignored`
	if err != nil {
		return err
	}
	defer p.Unlock(context.WithoutCancel(ctx))
	return work()
}

func politely(ctx context.Context, p *locks.Polite) error {
	ok, err := p.TryLock(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	defer p.Unlock(ctx) // want `LL3008: p.Unlock is given the caller's context`
	return work()
}

func fetched(ctx context.Context, client *redislock.Client, bad bool) error {
	lock, err := locks.Fetch(ctx, client) // want `LL3003: the lock from Fetch is not released on every path`
	if err != nil {
		return err
	}
	if bad {
		return errTaken
	}
	return lock.Release(context.WithoutCancel(ctx))
}
