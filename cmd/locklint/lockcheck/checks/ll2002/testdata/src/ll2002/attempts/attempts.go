package attempts

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// Marks that are taken back once all attempts have failed, and stay where one has succeeded.

func returnStockOnce(ctx context.Context, rdb *redis.Client, order string, add func(n int) (int, error)) error {
	done := "returned:" + order
	ok, err := rdb.SetNX(ctx, done, "1", 30*time.Minute).Result()
	if err != nil {
		return err
	}
	if !ok {
		return nil
	}
	for range 3 {
		if _, err := add(1); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	rdb.Del(ctx, done)
	return nil
}

// returnStockAlone is over with the key in any case: the attempts only break.
func returnStockAlone(ctx context.Context, rdb *redis.Client, order string, add func(n int) (int, error)) error {
	busy := "returning:" + order
	ok, err := rdb.SetNX(ctx, busy, "1", 30*time.Minute).Result()
	if err != nil {
		return err
	}
	if !ok {
		return nil
	}
	for range 3 {
		if _, err = add(1); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	rdb.Del(ctx, busy) // want `LL2002: DEL releases this lock without asking whose it is`
	return err
}

// returnStockLocked says that it takes a lock.
func returnStockLocked(ctx context.Context, rdb *redis.Client, order string, add func(n int) (int, error)) error {
	key := "stock:lock:" + order
	ok, err := rdb.SetNX(ctx, key, "1", 30*time.Second).Result()
	if err != nil || !ok {
		return err
	}
	for range 3 {
		if _, err := add(1); err == nil {
			return nil
		}
	}
	rdb.Del(ctx, key) // want `LL2002: DEL releases this lock without asking whose it is`
	return nil
}

// A guard against requests that come twice, whose callers go through its methods.

type requestIdempotency struct{ rdb *redis.Client }

func beganKey(session, request string) string { return session + ":began:" + request }

func (g *requestIdempotency) begin(ctx context.Context, session, request string) (bool, error) {
	return g.rdb.SetNX(ctx, beganKey(session, request), "1", time.Minute).Result()
}

func (g *requestIdempotency) forget(ctx context.Context, session, request string) error {
	return g.rdb.Del(ctx, beganKey(session, request)).Err()
}

func answer(ctx context.Context, g *requestIdempotency, session, request string, work func() (bool, error)) error {
	ok, err := g.begin(ctx, session, request)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("this request is being answered")
	}
	found, err := work()
	if err != nil {
		g.forget(ctx, session, request)
		return err
	}
	if !found {
		g.forget(ctx, session, request)
		return errors.New("nothing to answer")
	}
	return g.forget(ctx, session, request)
}

// The same by another name is a lock.

type requestGate struct{ rdb *redis.Client }

func (g *requestGate) begin(ctx context.Context, session, request string) (bool, error) {
	return g.rdb.SetNX(ctx, beganKey(session, request), "1", time.Minute).Result()
}

func (g *requestGate) forget(ctx context.Context, session, request string) error {
	return g.rdb.Del(ctx, beganKey(session, request)).Err() // want `LL2002: DEL releases this lock without asking whose it is`
}

func answerAlone(ctx context.Context, g *requestGate, session, request string, work func() (bool, error)) error {
	ok, err := g.begin(ctx, session, request)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("this request is being answered")
	}
	_, err = work()
	if err := g.forget(ctx, session, request); err != nil {
		return err
	}
	return err
}

// A counter's start is set in a pipeline, and nobody reads whether it was: DoMarshal is no way to send it.

type blob struct{ text string }

func (b blob) DoMarshal() ([]byte, error) { return json.Marshal(b.text) }

func store(ctx context.Context, rdb *redis.Client, b blob) error {
	text, err := b.DoMarshal()
	if err != nil {
		return err
	}
	_, err = rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Expire(ctx, "blob:"+string(text), time.Hour)
		p.SetNX(ctx, "blob:unflushed", time.Now().Unix(), time.Hour)
		return nil
	})
	return err
}

func flush(ctx context.Context, rdb *redis.Client, b blob) error {
	if err := store(ctx, rdb, b); err != nil {
		return err
	}
	return rdb.Del(ctx, "blob:unflushed").Err()
}
