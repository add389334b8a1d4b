package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// A page costs its own locks, not all that are held, and also ends among the keys of others.
func TestSession_ListPage_costs(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := newClient(t, server)
	locks, err := lockrt.New(redisstore.New(client, redisstore.Config{}), lockrt.Config{Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(t.Context()) })
	const held = 20_000
	pipe := client.Pipeline()
	for i := range held {
		// As acquire.lua writes it: id, epoch, since, ttl, channel, node.
		pipe.Set(t.Context(), fmt.Sprintf("shop:{order:%d}", i), fmt.Sprintf("id%d 7 1 600000 lockgen:c node", i), time.Hour)
		pipe.Set(t.Context(), fmt.Sprintf("session:%d", i), "of others", time.Hour)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := commandsOf(t, client)
	page, next, err := locks.ListPage(t.Context(), "order:", "", 50)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(page); n < 50 || n > 150 || next == "" {
		t.Errorf("the first page has %d locks, its next is %q", n, next)
	}
	if n := commandsOf(t, client) - before; n > 6*int64(len(page)) { // the script makes three of its own
		t.Errorf("%d commands for a page of %d locks", n, len(page))
	}
	before = commandsOf(t, client)
	if page, _, err := locks.ListPage(t.Context(), "no such", "", 50); err != nil || len(page) > 0 {
		t.Errorf("a page of no locks is %v, %v", page, err)
	}
	if n := commandsOf(t, client) - before; n > 100 {
		t.Errorf("%d commands for an empty page", n)
	}
}

// commandsOf is how many commands the server has run, those of scripts among them.
func commandsOf(t *testing.T, client *redis.Client) (calls int64) {
	t.Helper()
	stats, err := client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(stats) {
		var n int64
		if _, rest, ok := strings.Cut(line, ":calls="); ok {
			if _, err := fmt.Sscanf(rest, "%d", &n); err != nil {
				t.Fatal(err)
			}
			calls += n
		}
	}
	return calls
}

func TestSession_ListPage_foreignCursor(t *testing.T) {
	locks, err := lockrt.New(redisstore.New(newClient(t, testenv.Redis(t)), redisstore.Config{}), lockrt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close(t.Context()) })
	for _, cursor := range []string{"k:3", "12", "-1@", "x@y"} {
		if _, _, err := locks.ListPage(t.Context(), "", cursor, 10); !errors.Is(err, lockrt.ErrCursor) {
			t.Errorf("the cursor %q gives %v, want ErrCursor", cursor, err)
		}
	}
	if _, _, err := locks.ListPage(t.Context(), "", "0@192.0.2.1:6379", 10); err != nil {
		t.Errorf("the cursor of a master that is gone gives %v", err)
	}
}
