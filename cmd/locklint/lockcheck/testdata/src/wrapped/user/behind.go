package user

import (
	"context"
	"errors"
	"log"
	"net/http"

	"wrapped/locks"
)

// Locks that an interface of another package hands out.

var errTaken = errors.New("taken")

func behindLeaks(ctx context.Context, c locks.Cache, bad bool) error {
	held, ok, err := c.TakeLock(ctx, "order") // want `LL3003: the lock from Cache.TakeLock is not released on every path`
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	if bad {
		return errTaken
	}
	return held.Release(context.WithoutCancel(ctx))
}

func behindContext(c locks.Cache, r *http.Request) error {
	ctx := r.Context()
	held, ok, err := c.TakeLock(ctx, "order")
	if err != nil || !ok {
		return errTaken
	}
	defer func() {
		if err := held.Release(ctx); err != nil { // want `LL3008: held.Release is given the context of a request`
			log.Println(err)
		}
	}()
	c.Get("order")
	return nil
}

func behindFine(ctx context.Context, c locks.Cache) error {
	held, ok, err := c.TakeLock(ctx, "order")
	if err != nil {
		return err
	}
	if !ok {
		return errTaken
	}
	defer func() { _ = held.Release(context.WithoutCancel(ctx)) }()
	return nil
}
