package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// Who waits without any end, the callers behind it included, waits for as long as the server answers.
func TestWait_withoutEnd_serverFallsSilent(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	p := newProxy(t, server.Addr())
	holder := newLocker(t, newClient(t, server), redisstore.Config{})
	mustAcquire(testContext(t), t, holder, "k", lockrt.Options{TTL: time.Hour})
	waiting := newLocker(t, p.client(), redisstore.Config{})
	o := lockrt.Options{TTL: time.Hour, Wait: lockrt.Forever}
	first := acquiring(context.Background(), waiting, "k", o)
	queued(t, holder, "k", 1)
	second := acquiring(context.Background(), waiting, "k", o)
	p.set(func() { p.hole = true })
	defer p.set(func() { p.hole = false })
	for _, done := range []<-chan result{first, second} {
		select {
		case r := <-done:
			if r.err == nil || errors.Is(r.err, lockrt.ErrBusy) || errors.Is(r.err, context.DeadlineExceeded) {
				t.Errorf("the error is %v, want that the store does not answer", r.err)
			}
		case <-time.After(testsync.Patience):
			t.Fatal("it waits although the server is silent")
		}
	}
}
