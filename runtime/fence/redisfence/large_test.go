package redisfence_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/fence/internal/fencetest"
	"github.com/lockgen/lockgen/runtime/fence/redisfence"
)

// push is RPUSH of n values to key; the last is tail.
func push(key string, n int, tail string) []any {
	args := []any{"RPUSH", key}
	for range n - 1 {
		args = append(args, "x")
	}
	return append(args, tail)
}

// The sizes around those at which Lua's stack ends, and at which Do does without it.
func TestRedis_Do_manyValues(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	for _, n := range []int{1, 6997, 6998, 6999, 7997, 7998, 8000, 9000, 100_000} {
		key := "list" + strconv.Itoa(n)
		if got, err := r.Do(ctx, key, 7, push(key, n, "end")...).Int(); err != nil || got != n {
			t.Errorf("%d values: the list has %d, %v", n, got, err)
		}
		var stale *fence.StaleError
		err := r.Do(ctx, key, 6, push(key, n, "end")...).Err()
		if !errors.As(err, &stale) || *stale != (fence.StaleError{Resource: key, Given: 6, Highest: 7}) {
			t.Errorf("%d values, stale: %v", n, err)
		}
		if got := client.LLen(ctx, key).Val(); got != int64(n) {
			t.Errorf("a stale command wrote: %d values", got)
		}
		if mark := client.Get(ctx, r.MarkKey(key)).Val(); mark != "7" {
			t.Errorf("%d values: the mark is %q", n, mark)
		}
	}
}

func TestRedis_Do_manyValuesOnCluster(t *testing.T) {
	r, client := newCluster(t)
	if n, err := r.Do(t.Context(), "list", 7, push("list", 9000, "end")...).Int(); err != nil || n != 9000 {
		t.Errorf("%d, %v", n, err)
	}
	err := r.Do(t.Context(), "list", 7, push("other", 9000, "end")...).Err()
	if err == nil || !strings.Contains(err.Error(), "hash tag") || client.Exists(t.Context(), "other").Val() != 0 {
		t.Errorf("another slot: %v", err)
	}
}

func TestRedis_Do_manyValuesFail(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	client.Set(ctx, "text", "x", 0)
	if err := r.Do(ctx, "text", 7, push("text", 9000, "end")...).Err(); err == nil || !redis.HasErrorPrefix(err, "WRONGTYPE") {
		t.Errorf("error of the command: %v", err)
	}
	if mark := client.Get(ctx, r.MarkKey("text")).Val(); mark != "7" {
		t.Errorf("mark = %q after a command that failed", mark)
	}
	client.Set(ctx, r.MarkKey("list"), "abc", 0)
	if err := r.Do(ctx, "list", 7, push("list", 9000, "end")...).Err(); err == nil || !strings.Contains(err.Error(), "Namespace") {
		t.Errorf("foreign mark: %v", err)
	}
	kept := r
	kept.Expiry = time.Hour
	if err := kept.Do(ctx, "kept", 7, push("kept", 9000, "end")...).Err(); err != nil {
		t.Error(err)
	}
	if left := client.PTTL(ctx, r.MarkKey("kept")).Val(); left <= 0 || left > time.Hour {
		t.Errorf("the mark is kept for %s", left)
	}
}

// Long and short commands of many holders at once: the list is written in the order in which Redis ran them.
func TestRedis_Do_manyValuesNeverLowerAfterHigher(t *testing.T) {
	r, client := newRedis(t)
	ctx := t.Context()
	highest := fencetest.Order(t, 120, 6, func(f lockrt.Fence) error {
		n := 1
		if f%2 == 0 {
			n = 7001
		}
		return r.Do(ctx, "list", f, push("list", n, f.String())...).Err()
	}, func(err error) bool { return errors.Is(err, redis.TxFailedErr) })
	last := ""
	for _, f := range client.LRange(ctx, "list", 0, -1).Val() {
		if f != "x" && f < last { // all have 16 digits
			t.Errorf("%s was written after %s", f, last)
		}
		last = max(last, strings.TrimPrefix(f, "x"))
	}
	if last != highest.String() {
		t.Errorf("last write has fence %q, highest accepted %s", last, highest)
	}
}

// One lease may write from many goroutines.
func TestRedis_Do_manyValuesOfOneLease(t *testing.T) {
	r, client := newRedis(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := r.Do(t.Context(), "list", 7, push("list", 9000, "end")...).Err(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := client.LLen(t.Context(), "list").Val(); n != 4*9000 {
		t.Errorf("%d values of 36000", n)
	}
}

func TestRedis_refusesRing(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	r := redisfence.Redis{Client: ring}
	for name, err := range map[string]error{
		"Do": r.Do(t.Context(), "x", 1, "SET", "x", "1").Err(), "Check": r.Check(t.Context(), "x", 1),
		"a long Do": r.Do(t.Context(), "x", 1, push("x", 9000, "end")...).Err(), "Reset": r.Reset(t.Context(), "x"),
	} {
		if !errors.Is(err, fence.ErrInvalid) || !strings.Contains(err.Error(), "Ring") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedis_Reset(t *testing.T) {
	r, _ := newRedis(t)
	ctx := t.Context()
	if err := errors.Join(r.Check(ctx, "x", 9), r.Check(ctx, "y", 9), r.Reset(ctx, "x"), r.Reset(ctx, "none")); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(ctx, "x", 8); err != nil {
		t.Errorf("after Reset: %v", err)
	}
	if err := r.Check(ctx, "y", 8); !errors.Is(err, fence.ErrStale) {
		t.Errorf("another resource: %v", err)
	}
	if err := r.Reset(ctx, ""); !errors.Is(err, fence.ErrInvalid) {
		t.Errorf("no resource: %v", err)
	}
}
