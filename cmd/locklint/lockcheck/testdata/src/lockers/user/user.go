package user

import (
	"context"
	"database/sql"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"lockers"
)

func work(ctx context.Context) error { return ctx.Err() }

func inTx(ctx context.Context, db *sql.DB, rs *redsync.Redsync) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	m := rs.NewMutex("order")
	lockers.Lock(ctx, m)         // want `LL3004: the lock from Lock is taken inside the transaction begun at line 18`
	defer lockers.Unlock(ctx, m) // want `LL3008: lockers.Unlock is given the caller's context`
	defer tx.Commit()
	_, err = tx.Exec("UPDATE orders SET paid = true")
	return err
}

func detached(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("order")
	lockers.Lock(ctx, m)
	defer lockers.UnlockDetached(ctx, m)
	return work(ctx)
}

func dropped(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("order")
	lockers.TryLock(ctx, m) // want `LL3002: the error of lockers.TryLock is ignored`
	defer lockers.UnlockDetached(ctx, m)
	return work(ctx)
}

func droppedNamed(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("order")
	lockers.LockNamed(ctx, m) // want `LL3002: the error of lockers.LockNamed is ignored`
	defer lockers.UnlockDetached(ctx, m)
	return work(ctx)
}

func leaves(ctx context.Context, rs *redsync.Redsync, early bool) error {
	m := rs.NewMutex("order")
	lockers.Lock(ctx, m) // want `LL3003: `
	if early {
		return work(ctx)
	}
	lockers.UnlockDetached(ctx, m)
	return nil
}

// Nobody knows whether it has the lock.
func logged(ctx context.Context, rs *redsync.Redsync, early bool) error {
	m := rs.NewMutex("order")
	lockers.LockLogged(ctx, m)
	if early {
		return work(ctx)
	}
	lockers.UnlockDetached(ctx, m)
	return nil
}

// A lock by hand: the context of a request, or one that somebody cancels.
func handle(w http.ResponseWriter, r *http.Request, l *lockers.Locker, token string) {
	if ok, err := l.Acquire(r.Context(), "lock:order", token); err != nil || !ok {
		return
	}
	defer l.Release(r.Context(), "lock:order", token) // want `LL3008: l.Release is given the context of a request`
	w.WriteHeader(http.StatusOK)
}

func serve(w http.ResponseWriter, r *http.Request, l *lockers.Locker, token string) {
	if err := pay(r.Context(), l, token); err != nil {
		log.Print(err)
	}
	if err := payDetached(r.Context(), l, token); err != nil {
		log.Print(err)
	}
}

func pay(ctx context.Context, l *lockers.Locker, token string) error {
	if ok, err := l.Acquire(ctx, "lock:order", token); err != nil || !ok {
		return err
	}
	defer l.Release(ctx, "lock:order", token) // want `LL3008: l.Release is given the context of a request`
	return work(ctx)
}

func payDetached(ctx context.Context, l *lockers.Locker, token string) error {
	if ok, err := l.Acquire(ctx, "lock:order", token); err != nil || !ok {
		return err
	}
	defer l.ReleaseDetached(ctx, "lock:order", token)
	return work(ctx)
}

// Nobody in sight cancels this one.
func payForSomebody(ctx context.Context, l *lockers.Locker, token string) error {
	if ok, err := l.Acquire(ctx, "lock:order", token); err != nil || !ok {
		return err
	}
	defer l.Release(ctx, "lock:order", token)
	return work(ctx)
}

func limited(l *lockers.Locker, token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if ok, err := l.Acquire(ctx, "lock:order", token); err != nil || !ok {
		return err
	}
	defer l.Release(ctx, "lock:order", token) // want `LL3008: l.Release is given a context with a deadline`
	return work(ctx)
}

var handles sync.Map

func droppedHandle(ctx context.Context) error {
	v, _ := handles.Load("order")
	h := v.(*lockers.Handle)
	_ = h.Lock(ctx) // want `LL2001: the outcome of SetNX \(through Handle.Lock\) is ignored`
	defer h.Unlock(context.WithoutCancel(ctx))
	return work(ctx)
}

func lookedAt(ctx context.Context) error {
	v, _ := handles.Load("order")
	h := v.(*lockers.Handle)
	if err := h.Lock(ctx); err != nil {
		return err
	}
	defer h.Unlock(context.WithoutCancel(ctx))
	return work(ctx)
}
