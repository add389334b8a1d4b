package main

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Two semaphores as they are found in practice: a sorted set by hand, and Redisson's RPermitExpirableSemaphore, whose
// scripts these are, shortened to what one permit at a time needs. Waiters of the first ask every 10 ms; those of the
// second wait for a message at each release, and then all try.
var (
	zsetSemaphore = contender{name: "zset-semaphore", peer: true, open: func(at address) (locks, error) {
		return openSemaphore(at, semaphoreLocks{take: zsetTake, give: zsetGive})
	}}
	redissonSemaphore = contender{name: "redisson-semaphore", peer: true, open: func(at address) (locks, error) {
		return openSemaphore(at, semaphoreLocks{take: redissonTake, give: redissonGive, listens: true})
	}}
)

// KEYS set; ARGV now (ms), ttl (ms), limit, id
var zsetTake = redis.NewScript(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[1], ARGV[1] + ARGV[2], ARGV[4])
  return 1
end
return 0`)

// KEYS set; ARGV id
var zsetGive = redis.NewScript(`return redis.call('ZREM', KEYS[1], ARGV[1])`)

// KEYS free permits, leases, channel; ARGV now (ms), ttl (ms), limit, id
var redissonTake = redis.NewScript(`
redis.call('SET', KEYS[1], ARGV[3], 'NX')
local over = redis.call('ZRANGEBYSCORE', KEYS[2], 0, ARGV[1], 'LIMIT', 0, 1)
if #over > 0 then
  redis.call('ZREM', KEYS[2], over[1])
  if redis.call('INCR', KEYS[1]) > 0 then
    redis.call('PUBLISH', KEYS[3], 1)
  end
end
local free = redis.call('GET', KEYS[1])
if tonumber(free) >= 1 then
  redis.call('DECR', KEYS[1])
  redis.call('ZADD', KEYS[2], ARGV[1] + ARGV[2], ARGV[4])
  return 1
end
return 0`)

// KEYS free permits, leases, channel; ARGV id
var redissonGive = redis.NewScript(`
if redis.call('ZREM', KEYS[2], ARGV[1]) == 1 then
  redis.call('PUBLISH', KEYS[3], redis.call('INCR', KEYS[1]))
  return 1
end
return 0`)

type semaphoreLocks struct {
	take, give *redis.Script
	listens    bool

	client *redis.Client
	sub    *redis.PubSub
	wakeUp chan chan struct{}
}

const semaphoreChannel = "{kinds}:freed"

func openSemaphore(at address, s semaphoreLocks) (locks, error) {
	s.client = at.goRedis()
	s.wakeUp = make(chan chan struct{})
	if !s.listens {
		return &s, nil
	}
	s.sub = s.client.Subscribe(context.Background(), semaphoreChannel)
	if _, err := s.sub.Receive(context.Background()); err != nil {
		return nil, errors.Join(err, s.client.Close())
	}
	go s.listen(s.sub.Channel())
	return &s, nil
}

// listen hands out a channel that is closed by the next message.
func (s *semaphoreLocks) listen(messages <-chan *redis.Message) {
	freed := make(chan struct{})
	for {
		select {
		case _, ok := <-messages:
			close(freed)
			if freed = make(chan struct{}); !ok {
				close(s.wakeUp)
				return
			}
		case s.wakeUp <- freed:
		}
	}
}

var semaphoreIDs idCounter

func (s *semaphoreLocks) lock(ctx context.Context, key string) (func(context.Context) error, error) {
	id := semaphoreIDs.next()
	kind := "zset"
	if s.listens {
		kind = "redisson" // both keep their permits on one server, each round after the other
	}
	keys := []string{kind + ":{" + key + "}", kind + ":{" + key + "}:leases", semaphoreChannel}
	for {
		var freed <-chan struct{}
		if s.listens {
			freed = <-s.wakeUp // before it tries: what is freed after that is not missed
		}
		got, err := s.take.Run(ctx, s.client, keys, time.Now().UnixMilli(), leaseTime.Milliseconds(), permitsLimit, id).Int()
		if err != nil {
			return nil, err
		}
		if got == 1 {
			return func(ctx context.Context) error { return s.give.Run(ctx, s.client, keys, id).Err() }, nil
		}
		wait := 10 * time.Millisecond
		if s.listens {
			wait = leaseTime
		}
		select {
		case <-freed:
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *semaphoreLocks) close() error {
	if s.sub != nil {
		return errors.Join(s.sub.Close(), s.client.Close())
	}
	return s.client.Close()
}

type idCounter struct{ at atomic.Int64 }

func (c *idCounter) next() string { return strconv.FormatInt(c.at.Add(1), 36) }
