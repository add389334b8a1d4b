package etcdtest

import (
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testetcd"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// Somebody else's key in the queue of a lock is not a holder, and who asks for the lock hears of it, with what to do.
func TestStore_foreignKey(t *testing.T) {
	t.Parallel()
	c := start(t, 1, testetcd.Options{})
	client := c.client(t)
	locks := newLocker(t, c, "n", lockrt.Config{})
	const below = "lockgen/~lock/l/"
	for name, value := range map[string]string{"text": "not a contender", "empty": "", "object": `{"node":"elsewhere"}`} {
		foreign := below + name + "/someone"
		if _, err := client.Put(t.Context(), foreign, value); err != nil {
			t.Fatal(err)
		}
		for _, o := range []lockrt.Options{
			{TTL: long},
			{TTL: long, Wait: time.Minute},
			{TTL: long, Wait: time.Minute, Mode: lockrt.Read},
			{TTL: long, Permits: 3},
		} {
			_, err := locks.Acquire(t.Context(), name, o)
			says(t, err, foreign, "delete it")
		}
		_, err := locks.Holder(t.Context(), name)
		says(t, err, foreign, "delete it")
		says(t, locks.Break(t.Context(), name, "test"), foreign, "delete it")
		if _, err := client.Delete(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		release(t, acquire(t, locks, name, lockrt.Options{TTL: long, Wait: time.Minute}))
	}

	// Behind a holder it hinders nobody but those behind it.
	held := acquire(t, locks, "k", lockrt.Options{TTL: long})
	foreign := below + "k/someone"
	if _, err := client.Put(t.Context(), foreign, ""); err != nil {
		t.Fatal(err)
	}
	other := newLocker(t, c, "other", lockrt.Config{})
	_, err := other.Acquire(t.Context(), "k", lockrt.Options{TTL: long, Wait: time.Minute})
	says(t, err, foreign, "delete it")
	if err := held.Check(t.Context()); err != nil {
		t.Error(err)
	}
	release(t, held)
}
