// Package global has what the others use: they import no client themselves.
package global

import (
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"
)

var (
	RDB *redis.Client
	RS  *redsync.Redsync
)
