package redisstore_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// A lock that its replica does not have in time is nobody's: the error says so, and the lock is free again. A replica
// that is frozen stands for one that lags.
func TestConfig_Replicas_oneThatLags(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	primary, replica := testenv.Redis(t), testenv.Redis(t)
	client := newClient(t, primary)
	host, port, _ := net.SplitHostPort(primary.Addr())
	if err := newClient(t, replica).SlaveOf(ctx, host, port).Err(); err != nil {
		t.Fatal(err)
	}
	for client.Wait(ctx, 1, time.Second).Val() < 1 {
		if ctx.Err() != nil {
			t.Fatal("the replica does not follow")
		}
	}
	newLocks := func(cfg redisstore.Config) *lockrt.Locker {
		locks, err := lockrt.New(redisstore.New(client, cfg), lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		return locks
	}
	certain := newLocks(redisstore.Config{Replicas: 1, ReplicaTimeout: 2 * time.Second})
	for _, o := range []lockrt.Options{{TTL: long}, {TTL: long, Mode: lockrt.Read}, {TTL: long, Permits: 2}} {
		lease := mustAcquire(ctx, t, certain, "k", o)
		if n := newClient(t, replica).Exists(ctx, "lock:{k}").Val(); n != 1 {
			t.Errorf("Acquire has returned, and the replica does not have the lock")
		}
		mustRelease(ctx, t, lease)
	}

	if err := replica.Pause(); err != nil {
		t.Fatal(err)
	}
	hasty := newLocks(redisstore.Config{Replicas: 1, ReplicaTimeout: 20 * time.Millisecond})
	_, err := hasty.Acquire(ctx, "k", lockrt.Options{TTL: long})
	if err == nil || errors.Is(err, lockrt.ErrBusy) || !strings.Contains(err.Error(), "0 of 1 replicas acknowledged") {
		t.Fatalf("the replica is frozen; the error is %v", err)
	}
	free := newLocks(redisstore.Config{})
	mustRelease(ctx, t, mustAcquire(ctx, t, free, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever}))

	// Who waits and is handed the lock by a release is not spared.
	held := mustAcquire(ctx, t, free, "k", lockrt.Options{TTL: long})
	handed := make(chan error, 1)
	go func() {
		_, err := hasty.Acquire(ctx, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever})
		handed <- err
	}()
	for {
		info, err := free.Holder(ctx, "k")
		if err == nil && len(info.Waiters) == 1 {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("nobody waits")
		}
	}
	mustRelease(ctx, t, held)
	if err := <-handed; err == nil || !strings.Contains(err.Error(), "0 of 1 replicas acknowledged") {
		t.Errorf("a lock was handed on that no replica has; the error is %v", err)
	}

	if err := replica.Resume(); err != nil {
		t.Fatal(err)
	}
	mustRelease(ctx, t, mustAcquire(ctx, t, certain, "k", lockrt.Options{TTL: long, Wait: lockrt.Forever}))
}

func TestConfig_Replicas_invalid(t *testing.T) {
	client := newClient(t, testenv.Redis(t))
	for _, cfg := range []redisstore.Config{
		{Replicas: -1}, {Replicas: 1, ReplicaTimeout: time.Microsecond}, {Replicas: 1, ReplicaTimeout: time.Minute},
		{ReplicaTimeout: time.Second},
	} {
		if _, err := lockrt.New(redisstore.New(client, cfg), lockrt.Config{}); !errors.Is(err, lockrt.ErrOptions) {
			t.Errorf("%+v: the error is %v, want ErrOptions", cfg, err)
		}
	}
}
