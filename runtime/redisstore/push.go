package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/pace"
)

const (
	// pushBuffer is how many pushes are kept while the goroutine is not scheduled. More are dropped; keepAlive finds
	// what they said.
	pushBuffer = 1024
	// subscribeTime bounds the wait for the first answer to a subscription.
	subscribeTime = 3 * time.Second
)

// listen receives the pushes of all keys on the session's one subscription. The client reconnects and subscribes again
// by itself; each time what was pushed in between is lost, so the server is asked for it.
func (s *session) listen() {
	sub := s.keeping().Subscribe(s.ctx, s.channel)
	unblock := context.AfterFunc(s.ctx, func() { _ = sub.Close() })
	defer func() {
		if unblock() {
			_ = sub.Close()
		}
	}()
	first := true
	if s.subscribe(sub) {
		s.isSubscribed(first)
		first = false
	}
	messages := sub.ChannelWithSubscriptions(redis.WithChannelSize(pushBuffer))
	for {
		select {
		case <-s.ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			switch m := m.(type) {
			case *redis.Subscription:
				s.isSubscribed(first)
				first = false
			case *redis.Message:
				s.receive(m.Payload)
			}
		}
	}
}

// subscribe waits for the answer to the first subscription, because the client tells of no error after it, and reports
// whether the server agreed. Whatever the answer is, the client goes on trying.
func (s *session) subscribe(sub *redis.PubSub) bool {
	m, err := sub.ReceiveTimeout(s.ctx, subscribeTime)
	if redis.HasErrorPrefix(err, "NOPERM") {
		s.Logger.Warn("locks are handed over slowly: the server refuses the subscription to "+s.channel+
			"; add &lockgen:* to the user's ACL rules", slog.Any("error", err))
	}
	_, ok := m.(*redis.Subscription)
	return err == nil && ok
}

// isSubscribed asks the server for everything that may have been pushed without a subscription: a lease may have been
// broken, or a lock handed on. After a reconnection the server may also be another one.
func (s *session) isSubscribed(first bool) {
	if !first {
		s.forgetClocks()
		s.resubscribed.Add(1)
	}
	pace.Wake(s.wakeRecheck)
	s.mu.Lock()
	for _, w := range s.waiters {
		if w.queue == nil { // keepAlive does not know it until its first answer is here
			pace.Wake(w.pokes)
		}
	}
	s.mu.Unlock()
	pace.Wake(s.subscribed)
}

// receive handles the pushes; lua/lib.lua has their forms.
func (s *session) receive(payload string) {
	kind, rest, _ := strings.Cut(payload, " ")
	id, rest, _ := strings.Cut(rest, " ")
	id, _, _ = splitID(id)
	var err error
	switch kind {
	case "grant":
		var p pushed
		if p, err = parseGrant(rest); err == nil {
			s.granted(id, p)
		}
	case "poke":
		s.poke(id)
	case "recall":
		if s.Recall != nil {
			s.Recall(id)
		}
	case "lost":
		var lock, reason string
		if lock, reason, err = parseLoss(rest); err == nil {
			s.lost(id, lock, errors.New(reason))
		}
	}
	if err != nil {
		s.Logger.Warn("lock push not understood", slog.String("channel", s.channel), slog.Any("error", err))
	}
}

// parseGrant reads "<epoch> <since µs> <ttl ms>", and the slot of a permit behind that.
func parseGrant(text string) (pushed, error) {
	epochText, rest, _ := strings.Cut(text, " ")
	sinceText, ttlText, _ := strings.Cut(rest, " ")
	epoch, err1 := strconv.ParseUint(epochText, 10, 53)
	since, err2 := strconv.ParseInt(sinceText, 10, 64)
	ttlText, slotText, hasSlot := strings.Cut(ttlText, " ")
	ttl, err3 := strconv.ParseUint(ttlText, 10, 42)
	p := pushed{epoch: epoch, since: since, ttl: time.Duration(ttl) * time.Millisecond}
	var err4 error
	if hasSlot {
		p.slot, err4 = strconv.Atoi(slotText)
	}
	return p, errors.Join(err1, err2, err3, err4)
}

// parseLoss reads "<length of the lock's key> <the lock's key> <reason>".
func parseLoss(text string) (lock, reason string, err error) {
	lengthText, rest, _ := strings.Cut(text, " ")
	length, err := strconv.Atoi(lengthText)
	if err != nil || length < 0 || length >= len(rest) {
		return "", "", errors.Join(errors.New("a loss without its lock"), err)
	}
	return rest[:length], rest[length+1:], nil
}

// granted passes a push on to its waiter. A grant without one was given up, or its waiter has learnt of it from a poke.
func (s *session) granted(id string, p pushed) {
	s.mu.Lock()
	w := s.waiters[id]
	if w != nil {
		select {
		case w.grants <- p:
		default:
		}
	}
	s.mu.Unlock()
	if w == nil {
		s.leftovers.Brought(id)
	}
}

func (s *session) poke(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiters[id]; w != nil {
		pace.Wake(w.pokes)
	}
}

// lost ends a lease that was broken. One whose grant its waiter has not learnt ends there.
func (s *session) lost(id, lock string, reason error) {
	name, ok := s.space.name(lock)
	if !ok {
		return // a key of another namespace
	}
	s.mu.Lock()
	if w := s.waiters[id]; w != nil {
		select {
		case w.lost <- reason:
		default:
		}
	}
	s.mu.Unlock()
	s.brokenLease(id, s.space.keys(name), reason)
}
