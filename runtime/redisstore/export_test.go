package redisstore

import (
	"context"
	"io"
	"log"
)

// NewClientLogs is what init gives to go-redis, with another place for the lines of the application's clients.
func NewClientLogs(others io.Writer) interface {
	Printf(ctx context.Context, format string, v ...any)
} {
	return clientLogs{others: log.New(others, "redis: ", log.Lshortfile)}
}
