package redisstore

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// listen receives the pushes of all keys on the session's one subscription. The client reconnects and subscribes again
// by itself; each time what was pushed in between is lost, so every waiter asks again.
func (s *session) listen() {
	sub := s.client.Subscribe(s.ctx, s.channel)
	defer func() { _ = sub.Close() }()
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
				s.pokeWhere(func(*waiter) bool { return true })
			case *redis.Message:
				s.receive(m.Payload)
			}
		}
	}
}

// pushBuffer holds pushes while the goroutine is not scheduled. What does not fit is dropped, and found by a poke.
const pushBuffer = 1024

// receive handles "grant <id> <epoch> <since µs>", "poke <id>" and "lost <id> <reason>".
func (s *session) receive(payload string) {
	kind, rest, _ := strings.Cut(payload, " ")
	id, rest, _ := strings.Cut(rest, " ")
	switch kind {
	case "grant":
		epochText, sinceText, _ := strings.Cut(rest, " ")
		epoch, err1 := strconv.ParseUint(epochText, 10, 53)
		since, err2 := strconv.ParseInt(sinceText, 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			s.Logger.Warn("lock push not understood", slog.String("channel", s.channel), slog.Any("error", err))
			return
		}
		s.granted(id, pushed{epoch: epoch, since: since})
	case "poke":
		s.poke(id)
	case "lost":
		s.Lost(id, errors.New(rest))
	}
}

// granted passes a push on to its waiter. A lease that was abandoned is cancelled now, before cleanUp comes to it. Any
// other id belongs to a waiter that has learnt of its grant from a poke.
func (s *session) granted(id string, p pushed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiters[id]; w != nil {
		select {
		case w.grants <- p:
		default:
		}
	} else if a, ok := s.abandoned[id]; ok {
		a.next = time.Time{}
		s.abandoned[id] = a
		wake(s.wakeJanitor)
	}
}

func (s *session) poke(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiters[id]; w != nil {
		wake(w.pokes)
	}
}

// pokeWhere lets the waiters that match ask again, those too whose first answer is on its way.
func (s *session) pokeWhere(match func(*waiter) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiters {
		if match(w) {
			wake(w.pokes)
		}
	}
}
