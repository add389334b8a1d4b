// Package nostore tests a program that has forgotten to import a store of jobs.
package nostore

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

type wrapped struct{ lockrt.Store }

func TestNew_noStoreRegistered(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	for want, store := range map[string]lockrt.Store{
		`no store of jobs is registered for locks in a *memstore.Store; ` +
			`add import _ "github.com/lockgen/lockgen/jobs/memstore", or set Config.Store`: memstore.New(),
		`add import _ "github.com/lockgen/lockgen/jobs/redisstore", or set Config.Store`:  redisstore.New(client, redisstore.Config{}),
		`no store of jobs is registered for locks in a nostore.wrapped; set Config.Store`: wrapped{memstore.New()},
	} {
		locks, err := lockrt.New(store, lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jobs.New(locks, jobs.Config{}); err == nil || !strings.HasPrefix(err.Error(), "jobs.New: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("New for locks in a %T: %v, want %s", store, err, want)
		}
		if err := locks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
