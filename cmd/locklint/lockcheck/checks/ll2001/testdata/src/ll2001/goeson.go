package ll2001

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
)

var errTaken = errors.New("taken")

const releaseOwn = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

type handMade struct{ c *redis.Client }

// lock says by its error whether the lock is had.
func (h *handMade) lock(ctx context.Context, key, token string) error {
	got, err := h.c.SetNX(ctx, key, token, time.Minute).Result()
	if err != nil {
		return err
	}
	if !got {
		return errTaken
	}
	return nil
}

func (h *handMade) unlock(ctx context.Context, key, token string) error {
	return h.c.Eval(ctx, releaseOwn, []string{key}, token).Err()
}

func (h *handMade) logs(ctx context.Context, id, token string) error {
	err := h.lock(ctx, "lock:"+id, token) // want `LL2001: when SetNX \(through handMade.lock\) has not got the lock, the code goes on without it: h.sell at line 40 runs either way`
	if err != nil {
		log.Println("busy", err)
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

func (h *handMade) sell(id string) error { return h.c.Set(context.Background(), id, 1, 0).Err() }

func (h *handMade) logsBool(ctx context.Context, id, token string) error {
	got, err := h.c.SetNX(ctx, "lock:"+id, token, time.Minute).Result() // want `LL2001: when SetNX has not got the lock, .* h.sell at line 54`
	if err != nil {
		return err
	}
	if !got {
		log.Println("busy")
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

func (h *handMade) literal(ctx context.Context, id, token string) error {
	err := h.lock(ctx, "lock:"+id, token) // want `LL2001: .* h.sell at line`
	if err != nil {
		log.Printf("busy: %v", err)
	}
	defer func(key, token string) {
		if err := h.unlock(ctx, key, token); err != nil {
			log.Println(err)
		}
	}("lock:"+id, token)
	return h.sell(id)
}

func (h *handMade) returns(ctx context.Context, id, token string) error {
	if err := h.lock(ctx, "lock:"+id, token); err != nil {
		log.Println("busy", err)
		return err
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

// What comes behind the release is not under the lock.
func (h *handMade) behind(ctx context.Context, id, token string) error {
	if err := h.lock(ctx, "lock:"+id, token); err != nil {
		log.Println("busy", err)
	} else {
		err = h.sell(id)
		h.unlock(ctx, "lock:"+id, token)
		if err != nil {
			return err
		}
	}
	return h.sell("other")
}

// A flag is looked at later.
func (h *handMade) flag(ctx context.Context, id, token string) error {
	held := true
	if err := h.lock(ctx, "lock:"+id, token); err != nil {
		held = false
	}
	defer h.unlock(ctx, "lock:"+id, token)
	if !held {
		return nil
	}
	return h.sell(id)
}

// It waits until the other one has done the work.
func (h *handMade) waits(ctx context.Context, id, token string) error {
	if err := h.lock(ctx, "lock:"+id, token); err != nil {
		if err := h.wait(id); err != nil {
			return err
		}
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

func (h *handMade) wait(id string) error { return nil }

func (h *handMade) tries(ctx context.Context, id, token string) error {
	for {
		err := h.lock(ctx, "lock:"+id, token)
		if err == nil {
			break
		}
		log.Println("busy", err)
		time.Sleep(time.Second)
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

// Who has the lock is told from a server that is away.
func (h *handMade) unavailable(ctx context.Context, id, token string) error {
	err := h.lock(ctx, "lock:"+id, token)
	if errors.Is(err, errTaken) {
		return err
	}
	if err != nil {
		log.Println("no lock server, going on", err)
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

func (h *handMade) compared(ctx context.Context, id, token string) error {
	err := h.lock(ctx, "lock:"+id, token)
	if err != nil {
		log.Println(err.Error())
	}
	if err == errTaken {
		return nil
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

func (h *handMade) fatal(ctx context.Context, id, token string) error {
	if err := h.lock(ctx, "lock:"+id, token); err != nil {
		log.Fatal(err)
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

func (h *handMade) told(ctx context.Context, id, token string) error {
	err := h.lock(ctx, "lock:"+id, token)
	if err != nil {
		log.Println(err)
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.report(id, err)
}

func (h *handMade) report(id string, err error) error { return err }

func (h *handMade) text(ctx context.Context, id, token string) error {
	if err := h.lock(ctx, "lock:"+id, token); err != nil { // want `LL2001: .* h.sell at line`
		log.Print("busy: " + err.Error())
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}

func (h *handMade) val(ctx context.Context, id, token string) error {
	if !h.c.SetNX(ctx, "lock:"+id, token, time.Minute).Val() { // want `LL2001: .* h.sell at line`
		log.Print("busy")
	}
	defer h.unlock(ctx, "lock:"+id, token)
	return h.sell(id)
}
