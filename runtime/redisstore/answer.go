package redisstore

import (
	"context"
	"fmt"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// answer is what acquire.lua said.
type answer struct {
	granted   bool
	epoch     uint64
	since     int64 // µs of the server's clock
	remaining time.Duration
	holder    string
	clock     clockPair
}

// clockPair ties the two clocks: the local moment is not after the moment at which the server's clock showed micros,
// because it was read before the request was sent.
type clockPair struct {
	local  time.Time
	micros int64
}

// at returns a local moment that is not after the one at which the server's clock showed micros.
func (c clockPair) at(micros int64) time.Time {
	return c.local.Add(time.Duration(micros-c.micros) * time.Microsecond)
}

func (a answer) grant() lockrt.Grant { return lockrt.Grant{Epoch: a.epoch, Start: a.clock.at(a.since)} }

func (a answer) busy(key string) *lockrt.BusyError {
	return &lockrt.BusyError{Key: key, Holder: a.holder, Remaining: a.remaining}
}

// ask runs acquire.lua once.
func (s *session) ask(ctx context.Context, keys lockKeys, req lockrt.Request) (answer, error) {
	e := &entry{keys: keys, id: req.ID, terms: terms{ttl: millis(req.TTL)}}
	if req.Wait > 0 {
		e.liveness = s.liveness.Milliseconds()
	}
	sent := time.Now()
	if err := s.acquires.do(ctx, e); err != nil {
		return answer{}, unansweredError{err}
	}
	return parseAnswer(e.answer, sent)
}

// unansweredError is why there is no answer. The server may have run the script all the same, or may still do so.
type unansweredError struct{ error }

func (e unansweredError) Unwrap() error { return e.error }

// acquireArgs are the arguments of acquire.lua before the ids.
func (s *session) acquireArgs(t terms) []any {
	return []any{t.ttl, t.ttl + s.retention.Milliseconds(), t.liveness, s.waiterID}
}

func parseAnswer(reply any, sent time.Time) (answer, error) {
	if epoch, ok := reply.(int64); ok {
		return answer{granted: true, epoch: uint64(epoch), since: epoch, clock: clockPair{sent, epoch}}, nil
	}
	if values, ok := reply.([]any); ok && len(values) == 4 {
		first, _ := values[0].(int64)
		second, ok2 := values[1].(int64)
		third, ok3 := values[2].(int64)
		if holder, ok := values[3].(string); ok && ok2 && ok3 && first == 0 {
			remaining := time.Duration(second) * time.Millisecond
			return answer{remaining: remaining, holder: holder, clock: clockPair{sent, third}}, nil
		}
		if now, ok := values[3].(int64); ok && ok2 && ok3 && first == 1 {
			return answer{granted: true, epoch: uint64(second), since: third, clock: clockPair{sent, now}}, nil
		}
	}
	return answer{}, fmt.Errorf("the lock script acquire answered %v; is another program writing to the lock's keys?",
		reply)
}

// millis rounds up: a lease is never shorter on the server than its holder believes.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }
