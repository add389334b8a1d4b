package eachcall

import (
	"context"
	"errors"
	"log"
	"time"
)

var errBusy = errors.New("busy")

type dedupeStore interface {
	Get(ctx context.Context, key string) (string, error)
	SetNX(ctx context.Context, key, value string, ttl time.Duration) (bool, error)
	Delete(ctx context.Context, key string) error
}

// keysForDedupe speaks of duplicates.
func keysForDedupe(id string) (busy, result string) { return "page:" + id + ":busy", "page:" + id }

// fetch gives its key back in any case: it is a lock, whatever it is called.
func fetch(ctx context.Context, s dedupeStore, id string, get func() (string, error)) (string, error) {
	busy, result := keysForDedupe(id)
	for {
		if page, err := s.Get(ctx, result); err == nil {
			return page, nil
		}
		got, err := s.SetNX(ctx, busy, "1", time.Minute)
		if err != nil {
			return "", err
		}
		if got {
			defer func() {
				if err := s.Delete(context.Background(), busy); err != nil { // want `LL2002: Delete releases this lock without asking whose it is`
					log.Print(err)
				}
			}()
			return get()
		}
		time.Sleep(time.Second)
	}
}

// fetchOnce gives it back only where the work has failed.
func fetchOnce(ctx context.Context, s dedupeStore, id string, get func() error) (err error) {
	done, _ := keysForDedupe(id)
	got, err := s.SetNX(ctx, done, "1", time.Minute)
	if err != nil {
		return err
	}
	if !got {
		return errBusy
	}
	defer func() {
		if err != nil {
			s.Delete(context.Background(), done)
		}
	}()
	return get()
}
