package redisfence_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/internal/fencetest"
	"github.com/lockgen/lockgen/runtime/fence/redisfence"
)

func newRedis(t testing.TB, config ...testenv.RedisConfig) (redisfence.Redis, *redis.Client) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: testenv.Redis(t, config...).Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	return redisfence.Redis{Client: client}, client
}

func TestRedis_conformance(t *testing.T) {
	r, _ := newRedis(t)
	fencetest.State(t, r)
}

func TestRedis_Do(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	set := func(f lockrt.Fence, value string) *redis.Cmd {
		return r.Do(ctx, "balance:42", f, "SET", "balance:42", value)
	}
	if reply, err := set(34, "new").Text(); err != nil || reply != "OK" {
		t.Fatalf("first write: %q, %v", reply, err)
	}
	if err := set(34, "newer").Err(); err != nil {
		t.Errorf("same fence: %v", err)
	}
	var stale *fence.StaleError
	err := set(33, "old").Err()
	if !errors.As(err, &stale) || *stale != (fence.StaleError{Resource: "balance:42", Given: 33, Highest: 34}) {
		t.Errorf("stale write: %v", err)
	}
	if got := client.Get(ctx, "balance:42").Val(); got != "newer" {
		t.Errorf("data = %q after a stale write", got)
	}
	if n, err := r.Do(ctx, "balance:42", 34, "STRLEN", "balance:42").Int(); err != nil || n != 5 {
		t.Errorf("reply of a number: %d, %v", n, err)
	}
	if n, err := r.Do(ctx, "balance:42", 34, "STRLEN", []byte("balance:42")).Int(); err != nil || n != 5 {
		t.Errorf("key of bytes: %d, %v", n, err)
	}
	if err := r.Do(ctx, "balance:42", 34, "GET", "nothing").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("reply of nothing: %v", err)
	}
}

// The list is written in the order in which Redis ran the commands.
func TestRedis_Do_neverWritesLowerAfterHigher(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	highest := fencetest.Order(t, 400, 8, func(f lockrt.Fence) error {
		return r.Do(ctx, "list", f, "RPUSH", "list", f.String()).Err()
	}, func(error) bool { return false })
	last := ""
	for _, f := range client.LRange(ctx, "list", 0, -1).Val() {
		if f < last { // all have 16 digits
			t.Errorf("%s was written after %s", f, last)
		}
		last = f
	}
	if last != highest.String() {
		t.Errorf("last write has fence %q, highest accepted %s", last, highest)
	}
}

func TestRedis_Run_seesItsOwnKeysAndArguments(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	script := redisfence.NewScript(`-- a comment
		for i, key in ipairs(KEYS) do redis.call('SET', key, ARGV[i]) end
		return {#KEYS, #ARGV} -- and one at the end`)
	sizes, err := r.Run(ctx, "pair", 5, script, []string{"a", "b"}, "1", "2").Int64Slice()
	if err != nil || len(sizes) != 2 || sizes[0] != 2 || sizes[1] != 2 {
		t.Fatalf("numbers of keys and arguments: %v, %v", sizes, err)
	}
	if got := client.MGet(ctx, "a", "b").Val(); got[0] != "1" || got[1] != "2" {
		t.Errorf("data = %v", got)
	}
	client.ScriptFlush(ctx)
	if err := r.Run(ctx, "pair", 4, script, []string{"a", "b"}, "8", "9").Err(); !errors.Is(err, fence.ErrStale) {
		t.Errorf("stale, with the server's scripts flushed: %v", err)
	}
	if got := client.Get(ctx, "a").Val(); got != "1" {
		t.Errorf("a stale script wrote %q", got)
	}
}

func TestRedis_Run_failedWorkRaisesTheMark(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	script := redisfence.NewScript("redis.call('SET', KEYS[1], 'half')\nerror('in line two')")
	err := r.Run(ctx, "x", 9, script, []string{"x"}).Err()
	if err == nil || errors.Is(err, fence.ErrStale) || !strings.Contains(err.Error(), "user_script:2: in line two") {
		t.Errorf("error of the work: %v", err)
	}
	if got := client.Get(ctx, r.MarkKey("x")).Val(); got != "9" {
		t.Errorf("mark = %q: a lower fence may still write over what the failed script wrote", got)
	}
	if err := r.Do(ctx, "x", 8, "SET", "x", "old").Err(); !errors.Is(err, fence.ErrStale) {
		t.Errorf("lower fence after the failed work: %v", err)
	}
}

func TestRedis_Expiry(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	ttl := func() time.Duration { return client.PTTL(ctx, r.MarkKey("x")).Val() }
	if err := r.Check(ctx, "x", 1); err != nil || ttl() != -1 {
		t.Errorf("without Expiry: %v, time to live %s", err, ttl())
	}
	kept := r
	kept.Expiry = time.Hour
	if err := kept.Check(ctx, "x", 1); err != nil || ttl() <= 0 || ttl() > time.Hour {
		t.Errorf("with Expiry: %v, time to live %s", err, ttl())
	}
	if err := r.Check(ctx, "x", 1); err != nil || ttl() != -1 {
		t.Errorf("without Expiry again: %v, time to live %s", err, ttl())
	}
}

func TestRedis_foreignMark(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	for _, value := range []string{"", "abc", "-1", "012", "1.5e9", "7 "} {
		client.Set(ctx, r.MarkKey("x"), value, 0)
		err := r.Do(ctx, "x", 1<<40, "SET", "x", "1").Err()
		if err == nil || errors.Is(err, fence.ErrStale) || !strings.Contains(err.Error(), "Namespace") {
			t.Errorf("mark %q: %v", value, err)
		}
	}
	if n := client.Exists(ctx, "x").Val(); n != 0 {
		t.Error("data was written in spite of an unreadable mark")
	}
}

func TestRedis_refuses(t *testing.T) {
	r, _ := newRedis(t)
	ctx := t.Context()
	for name, err := range map[string]error{
		"no client":       redisfence.Redis{}.Check(ctx, "x", 1),
		"short expiry":    redisfence.Redis{Client: r.Client, Expiry: time.Millisecond}.Check(ctx, "x", 1),
		"minus expiry":    redisfence.Redis{Client: r.Client, Expiry: -1}.Check(ctx, "x", 1),
		"command, no key": r.Do(ctx, "x", 1, "PING").Err(),
	} {
		if !errors.Is(err, fence.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
