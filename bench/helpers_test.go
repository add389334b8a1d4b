package main

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
)

func (a address) goRedisForTest(t *testing.T) *redis.Client {
	client := a.goRedis()
	t.Cleanup(func() { client.Close() })
	return client
}

func removeFile(t *testing.T, path string) {
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
}
