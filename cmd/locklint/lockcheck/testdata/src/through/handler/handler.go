// Package handler works with clients that it does not import.
package handler

import (
	"context"
	"errors"
	"time"

	"through/global"
)

var errBusy = errors.New("busy")

func pay(ctx context.Context, id, token string, work func() error) error {
	if !global.RDB.SetNX(ctx, "lock:"+id, token, time.Minute).Val() {
		return errBusy
	}
	defer global.RDB.Del(ctx, "lock:"+id) // want `LL2002`
	return work()
}

func sell(paid bool) error {
	mutex := global.RS.NewMutex("stock")
	if err := mutex.Lock(); err != nil { // want `LL3003`
		return err
	}
	if paid {
		return nil
	}
	_, err := mutex.Unlock()
	return err
}
