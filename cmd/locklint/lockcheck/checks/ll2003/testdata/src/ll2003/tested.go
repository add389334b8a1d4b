package ll2003

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// What tests hand in says nothing of who locks in earnest: see tested_test.go. The callers of these may be in other
// packages.

type tested struct {
	rdb        *redis.Client
	key, token string
}

func NewTested(rdb *redis.Client, key, token string) *tested {
	return &tested{rdb: rdb, key: key, token: token}
}

func (h *tested) Lock(ctx context.Context) (bool, error) {
	return h.rdb.SetNX(ctx, h.key, h.token, time.Minute).Result()
}

func (h *tested) Unlock(ctx context.Context) error {
	return h.rdb.Eval(ctx, release, []string{h.key}, h.token).Err()
}

// A field that only a test sets to something else is as constant as before.

type preset struct {
	rdb   *redis.Client
	token string
}

func newPreset(rdb *redis.Client) *preset { return &preset{rdb: rdb, token: "preset"} }

func (p *preset) Lock(ctx context.Context, key string) (bool, error) {
	return p.rdb.SetNX(ctx, key, p.token, time.Minute).Result() // want `LL2003: the token that SetNX stores is the constant "preset"`
}

func (p *preset) Unlock(ctx context.Context, key string) error {
	return p.rdb.Eval(ctx, release, []string{key}, p.token).Err()
}

// Nor is a field a time because a test sets it to one.

type stamped struct {
	rdb        *redis.Client
	key, token string
}

func (s *stamped) Lock(ctx context.Context) (bool, error) {
	return s.rdb.SetNX(ctx, s.key, s.token, time.Minute).Result()
}

func (s *stamped) Unlock(ctx context.Context) error {
	return s.rdb.Eval(ctx, release, []string{s.key}, s.token).Err()
}
