package user

import (
	"context"
	"errors"
	"time"

	"facts/middle"
	"facts/store"
)

var errBusy = errors.New("busy")

func job(ctx context.Context, s *store.Store, id string) error {
	key := "job:" + id
	if !s.PutIfAbsent(ctx, key, time.Minute) {
		return errBusy
	}
	defer s.Remove(ctx, key) // want `LL2002: DEL \(through Store.Remove\) releases this lock`
	return nil
}

func jobInTwoSteps(ctx context.Context, s *store.Store, id string) error {
	key := "job:" + id
	if !s.PutIfAbsent(ctx, key, 0) { // want `LL2005: SetNX \(through Store.PutIfAbsent\) takes the lock without an expiry and Expire \(through Store.Prolong\) adds it later`
		return errBusy
	}
	s.Prolong(ctx, key, time.Minute)
	defer s.Remove(ctx, key) // want `LL2002: DEL \(through Store.Remove\) releases this lock`
	return nil
}

func ignored(ctx context.Context, s *store.Store, id string) {
	key := "lock:" + id
	s.PutIfAbsent(ctx, key, time.Minute) // want `LL2001: the outcome of SetNX \(through Store.PutIfAbsent\) is ignored`
	defer s.Remove(ctx, key)             // want `LL2002: DEL`
}

// Through two packages.

func across(ctx context.Context, m *middle.Middle, id string) error {
	if !m.Begin(ctx, id) {
		return errBusy
	}
	defer m.End(ctx, id) // want `LL2002: DEL \(through Middle.End\) releases this lock`
	return nil
}

// Another id, another key.
func twoKeys(ctx context.Context, m *middle.Middle, a, b string) bool {
	ok := m.Begin(ctx, a)
	m.End(ctx, b)
	return ok
}

// Reported where Lock and Unlock stand.
func locked(ctx context.Context, s *store.Store) error {
	if !s.Lock(ctx, "x") {
		return errBusy
	}
	defer s.Unlock(ctx, "x")
	return nil
}

// De-duplication with the same wrapper.
func seen(ctx context.Context, s *store.Store, id string) bool {
	return !s.PutIfAbsent(ctx, "seen:"+id, time.Hour)
}

func leaks(ctx context.Context, s *store.Store) error {
	lease, err := s.Lease(ctx, "a") // want `LL1001: the lease from Store.Lease is never released`
	if err != nil {
		return err
	}
	store.Look(ctx, lease)
	return nil
}

func finishes(ctx context.Context, s *store.Store) error {
	lease, err := s.Lease(ctx, "a")
	if err != nil {
		return err
	}
	defer store.Finish(ctx, lease)
	return nil
}

func keeps(ctx context.Context, s *store.Store) error {
	lease, err := s.Lease(ctx, "a")
	if err != nil {
		return err
	}
	store.Keep(ctx, lease)
	return nil
}

// What the user does with the outcome is the user's fault.
func lockedBlindly(ctx context.Context, s *store.Store) {
	s.Lock(ctx, "x") // want `LL2001: the outcome of SetNX \(through Store.Lock\) is ignored`
	defer s.Unlock(ctx, "x")
}
