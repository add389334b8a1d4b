package ll2002

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A place that is held for as long as its holder prolongs it: a lock, though nobody calls it one.

var prolong = redis.NewScript(`
if redis.call("GET", KEYS[1]) == ARGV[1] then
	return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)

type places struct {
	rdb    *redis.Client
	prefix string
}

func (p *places) name(n int) string { return fmt.Sprintf("%s:place:%d", p.prefix, n) }

func (p *places) Take(ctx context.Context, token string) (int, error) {
	for n := range 1024 {
		key := p.name(n)
		ok, err := p.rdb.SetNX(ctx, key, token, time.Minute).Result()
		if err != nil {
			return 0, err
		}
		if ok {
			p.keep(key, token)
			return n, nil
		}
	}
	return 0, errors.New("no place is free")
}

func (p *places) keep(key, token string) {
	go func() {
		for range time.Tick(20 * time.Second) {
			prolong.Run(context.Background(), p.rdb, []string{key}, token, 60000)
		}
	}()
}

func (p *places) Leave(ctx context.Context, n int) error {
	return p.rdb.Del(ctx, p.name(n)).Err() // want `LL2002: DEL releases this lock without asking whose it is`
}

// The same with care.

type chairs struct{ rdb *redis.Client }

func seat(n int) string { return fmt.Sprintf("seat:%d", n) }

var giveBack = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func (s *chairs) Take(ctx context.Context, n int, token string) (bool, error) {
	ok, err := s.rdb.SetNX(ctx, seat(n), token, time.Minute).Result()
	if ok {
		go prolong.Run(context.Background(), s.rdb, []string{seat(n)}, token, 60000)
	}
	return ok, err
}

func (s *chairs) Leave(ctx context.Context, n int, token string) error {
	return giveBack.Run(ctx, s.rdb, []string{seat(n)}, token).Err()
}

// What nobody prolongs may be anything.

type seen struct{ rdb *redis.Client }

func (s *seen) First(ctx context.Context, n int, by string) (bool, error) {
	return s.rdb.SetNX(ctx, fmt.Sprintf("visited:%d", n), by, time.Minute).Result()
}

func (s *seen) Drop(ctx context.Context, n int) error {
	return s.rdb.Del(ctx, fmt.Sprintf("visited:%d", n)).Err()
}
