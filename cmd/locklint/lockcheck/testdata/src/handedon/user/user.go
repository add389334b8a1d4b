// Package user locks through functions that hand commands on.
package user

import (
	"context"
	"errors"

	"github.com/gomodule/redigo/redis"

	"handedon/store"
)

var errBusy = errors.New("busy")

func work() {}

func lockDraw(s *store.Store, user string) bool {
	reply, _ := s.Do("SET", "draw_lock_"+user, 1, "EX", 3, "NX") // want `LL2003: the token that SET NX stores is the constant "1"`
	if reply == "OK" {
		return true
	}
	return false
}

func unlockDraw(s *store.Store, user string) {
	s.Do("DEL", "draw_lock_"+user) // want `LL2002: DEL releases this lock without asking whose it is`
}

func draw(s *store.Store, user string) {
	lockDraw(s, user) // want `LL2001: the outcome of SET NX \(through lockDraw\) is ignored`
	defer unlockDraw(s, user)
	work()
}

func drawOnce(s *store.Store, user string) {
	if !lockDraw(s, user) {
		return
	}
	defer unlockDraw(s, user)
	work()
}

func exec(s *store.Store, id, token string) error {
	key := "lock:exec:" + id
	if n, err := redis.Int(s.Exec("SETNX", key, token)); err != nil || n == 0 { // want `LL2005: SETNX takes the lock without an expiry`
		return errBusy
	}
	s.Exec("EXPIRE", key, 30)
	work()
	owner, err := redis.String(s.Exec("GET", key))
	if err != nil || owner != token {
		return err
	}
	_, err = s.Exec("DEL", key) // want `LL2004: DEL comes after the GET`
	return err
}

func run(ctx context.Context, r store.Runner, id, token string) error {
	key := "lock:run:" + id
	if r.Run(ctx, "SET", key, token, "NX", "PX", 1000).Err() != nil {
		return errBusy
	}
	defer r.Run(ctx, "DEL", key) // want `LL2002: DEL releases this lock without asking whose it is`
	work()
	return nil
}

const compareAndDelete = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`

// The script compares.
func script(ctx context.Context, s *store.Store, id, token string) error {
	key := "lock:script:" + id
	if reply, err := s.Do("SET", key, token, "NX", "PX", 1000); err != nil || reply == nil {
		return errBusy
	}
	defer s.Script(ctx, compareAndDelete, []string{key}, token)
	work()
	return nil
}

// The script does not.
func plainScript(ctx context.Context, s *store.Store, id, token string) error {
	key := "lock:plain:" + id
	if reply, err := s.Do("SET", key, token, "NX", "PX", 1000); err != nil || reply == nil {
		return errBusy
	}
	defer s.Script(ctx, `return redis.call("del", KEYS[1])`, []string{key}) // want `LL2002: EVAL releases this lock without asking whose it is`
	work()
	return nil
}

// Args of redigo.
func added(conn redis.Conn, id, token string) error {
	key := "lock:added:" + id
	reply, err := conn.Do("SET", redis.Args{}.Add(key).Add(token).Add("NX", "EX", 10)...)
	if err != nil || reply == nil {
		return errBusy
	}
	defer conn.Do("DEL", redis.Args{}.Add(key)...) // want `LL2002: DEL releases this lock without asking whose it is`
	work()
	return nil
}

// Nobody knows what arrives.
func reversed(s *store.Store, id string) error {
	key := "lock:reversed:" + id
	if reply, err := s.Reversed("SET", key, 1, "NX"); err != nil || reply == nil {
		return errBusy
	}
	defer s.Reversed("DEL", key)
	work()
	return nil
}

// A name that only the running program knows.
func named(s *store.Store, name, id string) error {
	key := "lock:named:" + id
	if reply, err := s.Do(name, key, 1, "NX"); err != nil || reply == nil {
		return errBusy
	}
	defer s.Do("DEL", key)
	work()
	return nil
}

// A cache and its invalidation.
func cached(s *store.Store, id, text string) error {
	if _, err := s.Do("SETNX", "page:"+id, text); err != nil {
		return err
	}
	return nil
}

func invalidate(s *store.Store, id string) { s.Do("DEL", "page:"+id) }

// Nothing that is returned where the lock was refused says that it was got.
func lockOrNot(s *store.Store, id string) bool {
	reply, err := s.Do("SET", "lock:ornot:"+id, id, "NX", "EX", 10) // want `LL2001: the outcome of SET NX is ignored` `LL2003: .* nothing but what the key is made of`
	_ = reply
	return err == nil
}

func unlockOrNot(s *store.Store, id string) { s.Do("DEL", "lock:ornot:"+id) } // want `LL2002: DEL releases this lock`

// A bool that one round of a loop hands to the next.
func tries(s *store.Store, id, token string) bool {
	got := false
	for range 3 {
		reply, _ := s.Do("SET", "lock:tries:"+id, token, "NX", "EX", 10)
		if reply == "OK" {
			got = true
		}
	}
	return got
}

func untried(s *store.Store, id string) { s.Do("DEL", "lock:tries:"+id) } // want `LL2002: DEL releases this lock`
