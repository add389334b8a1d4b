package ll2001

import (
	"context"
	"os"
	"time"

	"ll2001/kv"
)

// A SetNX behind an interface, also one of another package, answers with a bool and an error.

func onlyErrorOfInterface(ctx context.Context, s kv.Store, token string) error {
	if _, err := s.SetNX(ctx, "lock:a", token, time.Minute); err != nil { // want `LL2001: the outcome of SetNX is ignored, only the error is looked at`
		return err
	}
	defer s.Del(ctx, "lock:a")
	return os.Remove("x")
}

func nothingOfInterface(ctx context.Context, s kv.Store, token string) error {
	s.SetNX(ctx, "lock:a", token, time.Minute) // want `LL2001: the outcome of SetNX is ignored: everybody gets this lock`
	defer s.Del(ctx, "lock:a")
	return os.Remove("x")
}

func outcomeOfInterface(ctx context.Context, s kv.Store, token string) error {
	ok, err := s.SetNX(ctx, "lock:a", token, time.Minute)
	if err != nil || !ok {
		return err
	}
	defer s.Del(ctx, "lock:a")
	return os.Remove("x")
}

func errorSaysAll(ctx context.Context, s kv.Strict, token string) error {
	if _, err := s.SetNX(ctx, "lock:a", token, time.Minute); err != nil {
		return err
	}
	defer s.Del(ctx, "lock:a")
	return os.Remove("x")
}

func notEvenTheError(ctx context.Context, s kv.Strict, token string) error {
	s.SetNX(ctx, "lock:a", token, time.Minute) // want `LL2001`
	defer s.Del(ctx, "lock:a")
	return os.Remove("x")
}

// Whoever has no key to give back may only want to be the first.

func first(ctx context.Context, s kv.Store) {
	s.SetNX(ctx, "greeting", "hello", time.Minute)
}
