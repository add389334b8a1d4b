// Package store issues whatever command it is told.
package store

import (
	"context"
	"log"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
)

type Store struct {
	pool *redis.Pool
	rdb  *goredis.Client
}

func (s *Store) Do(name string, args ...any) (any, error) {
	conn := s.pool.Get()
	defer conn.Close()
	reply, err := conn.Do(name, args...)
	if err != nil {
		log.Println(name, err)
	}
	return reply, err
}

// Exec has the key apart.
func (s *Store) Exec(name string, key any, args ...any) (any, error) {
	list := make([]any, 0)
	list = append(list, key)
	if len(args) > 0 {
		for _, a := range args {
			list = append(list, a)
		}
	}
	return s.Do(name, list...)
}

func (s *Store) Script(ctx context.Context, text string, keys []string, args ...any) (any, error) {
	return s.rdb.Eval(ctx, text, keys, args...).Result()
}

// A Runner hides a Store.
type Runner interface {
	Run(ctx context.Context, args ...any) *goredis.Cmd
}

type runner struct{ rdb *goredis.Client }

func NewRunner(rdb *goredis.Client) Runner { return &runner{rdb} }

func (r *runner) Run(ctx context.Context, args ...any) *goredis.Cmd { return r.rdb.Do(ctx, args...) }

// Reversed does something else with its arguments.
func (s *Store) Reversed(name string, args ...any) (any, error) {
	list := make([]any, 0, len(args))
	for i := len(args) - 1; i > 0; i-- {
		list = append(list, args[i])
	}
	return s.Do(name, list...)
}
