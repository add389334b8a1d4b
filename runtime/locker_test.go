package lockrt_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

func TestLocker_Acquire_badArguments(t *testing.T) {
	bubble(t, func(t *testing.T, _ *faultStore, locks *lockrt.Locker) {
		for name, test := range map[string]struct {
			key  string
			o    lockrt.Options
			want error
		}{
			"no key":            {"", lockrt.Options{TTL: ttl}, lockrt.ErrKey},
			"zero byte":         {"a\x00b", lockrt.Options{TTL: ttl}, lockrt.ErrKey},
			"endless key":       {strings.Repeat("x", 5000), lockrt.Options{TTL: ttl}, lockrt.ErrKey},
			"no TTL":            {"k", lockrt.Options{}, lockrt.ErrOptions},
			"seconds as ns":     {"k", lockrt.Options{TTL: 30}, lockrt.ErrOptions},
			"endless TTL":       {"k", lockrt.Options{TTL: math.MaxInt64}, lockrt.ErrOptions},
			"negative wait":     {"k", lockrt.Options{TTL: ttl, Wait: -1}, lockrt.ErrOptions},
			"negative minhold":  {"k", lockrt.Options{TTL: ttl, MinHold: -1}, lockrt.ErrOptions},
			"endless minhold":   {"k", lockrt.Options{TTL: ttl, MinHold: math.MaxInt64}, lockrt.ErrOptions},
			"minhold > maxhold": {"k", lockrt.Options{TTL: ttl, MinHold: 2, MaxHold: 1}, lockrt.ErrOptions},
		} {
			if _, err := locks.Acquire(t.Context(), test.key, test.o); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
	})
}

func TestLocker_Acquire_endedContext(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		store.set(func(s *faultStore) {
			s.acquire = func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
				t.Error("the store was asked")
				return lockrt.Grant{}, errors.New("unexpected")
			}
		})
		if _, err := locks.Acquire(ctx, "k", lockrt.Options{TTL: ttl}); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want context.Canceled", err)
		}
	})
}

func TestLocker_Acquire_storeDownIsNotBusy(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, locks *lockrt.Locker) {
		down := errors.New("connection refused")
		store.set(func(s *faultStore) {
			s.acquire = func(context.Context, lockrt.Request, lockrt.Session) (lockrt.Grant, error) {
				return lockrt.Grant{}, down
			}
		})
		_, err := locks.Acquire(t.Context(), "order:42", lockrt.Options{TTL: ttl})
		if !errors.Is(err, down) || errors.Is(err, lockrt.ErrBusy) {
			t.Errorf("the error is %v, want the client's and not ErrBusy", err)
		}
		if !strings.Contains(err.Error(), "order:42") {
			t.Errorf("the error does not name the key: %v", err)
		}
	})
}

func TestLocker_Close_endsWaitsAndReleases(t *testing.T) {
	bubble(t, func(t *testing.T, store *faultStore, other *lockrt.Locker) {
		locks, err := lockrt.New(store, lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, other, t.Context(), "busy", lockrt.Options{TTL: ttl})
		lease := mustAcquire(t, locks, t.Context(), "mine", lockrt.Options{TTL: ttl})
		waited := make(chan error)
		go func() {
			_, err := locks.Acquire(t.Context(), "busy", lockrt.Options{TTL: ttl, Wait: lockrt.Forever})
			waited <- err
		}()
		synctest.Wait()
		start := time.Now()
		go func() { _ = locks.Close(t.Context()) }()
		if err := <-waited; !errors.Is(err, lockrt.ErrClosed) || errors.Is(err, context.Canceled) {
			t.Errorf("the wait ended with %v, want ErrClosed alone", err)
		}
		if err := locks.Close(t.Context()); err != nil {
			t.Errorf("second close: %v", err)
		}
		if time.Since(start) != 0 {
			t.Errorf("close took %s", time.Since(start))
		}
		if err := lease.Err(); !errors.Is(err, lockrt.ErrLost) {
			t.Errorf("a lease after Close: %v, want ErrLost", err)
		}
		mustAcquire(t, other, t.Context(), "mine", lockrt.Options{TTL: ttl})
		if _, err := locks.Acquire(t.Context(), "x", lockrt.Options{TTL: ttl}); !errors.Is(err, lockrt.ErrClosed) {
			t.Errorf("acquire after Close: %v, want ErrClosed", err)
		}
	})
}

// TestLocker_Close_grantThatCrosses has the store grant a lock in the moment in which Close begins: nobody will use it,
// and it must not stay taken until its TTL.
func TestLocker_Close_grantThatCrosses(t *testing.T) {
	for name, handoffs := range map[string]int{"in the queue": 0, "past the queue": -1} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *faultStore, other *lockrt.Locker) {
				locks := newLocker(t, store, lockrt.Config{LocalHandoffs: handoffs})
				store.set(func(s *faultStore) {
					s.acquire = func(ctx context.Context, req lockrt.Request, real lockrt.Session) (lockrt.Grant, error) {
						g, err := real.Acquire(ctx, req)
						closed := make(chan error, 1)
						go func() { closed <- locks.Close(t.Context()) }()
						synctest.Wait() // until it waits for this acquire
						if len(closed) > 0 {
							t.Error("Close has not waited for an acquire that is under way")
						}
						return g, err
					}
				})
				if _, err := locks.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl}); !errors.Is(err, lockrt.ErrClosed) {
					t.Errorf("the error is %v, want ErrClosed", err)
				}
				store.set(func(s *faultStore) { s.acquire = nil })
				mustAcquire(t, other, t.Context(), "k", lockrt.Options{TTL: ttl})
			})
		})
	}
}

func TestOpen(t *testing.T) {
	for url, want := range map[string]string{
		"no scheme at all":                "no scheme",
		"oracle://u:secret@h/db":          `no store is registered for "oracle" URLs; registered are: closable, memory`,
		"postgres://u:secret@h/db":        "runtime/sqlstore",
		"mysql://u:secret@h/db":           "runtime/sqlstore",
		"sqlite:file.db":                  "runtime/sqlstore",
		"redis://u:secret@127.0.0.1:6379": "runtime/redisstore",
	} {
		_, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if !errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q): %v, want ErrOptions with %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) repeats the password: %v", url, err)
		}
	}
}

func TestOpen_memory(t *testing.T) {
	open := func(url string) *lockrt.Locker {
		locks, err := lockrt.Open(t.Context(), url, lockrt.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = locks.Close(context.Background()) })
		return locks
	}
	a, b, c := open("memory:"), open("memory:"), open("memory:shared")
	d := open("memory:shared")
	for _, locks := range []*lockrt.Locker{a, b, c} {
		mustAcquire(t, locks, t.Context(), "k", lockrt.Options{TTL: ttl})
	}
	if _, err := d.Acquire(t.Context(), "k", lockrt.Options{TTL: ttl}); !errors.Is(err, lockrt.ErrBusy) {
		t.Errorf("acquire of a lock that another Locker of the same name holds: %v, want ErrBusy", err)
	}
}

func TestNew_badArguments(t *testing.T) {
	if _, err := lockrt.New(nil, lockrt.Config{}); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("New without a store: %v", err)
	}
	if _, err := lockrt.New(memstore.New(), lockrt.Config{Node: "a\nb"}); !errors.Is(err, lockrt.ErrOptions) {
		t.Errorf("New with a line break in the node's name: %v", err)
	}
}
