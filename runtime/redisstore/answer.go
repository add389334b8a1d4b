package redisstore

import (
	"fmt"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// answer is what acquire.lua said.
type answer struct {
	granted   bool
	broken    bool // it was granted, and an operator broke it
	late      bool // the request refused itself
	epoch     uint64
	since     int64         // µs of the server's clock
	ttl       time.Duration // from since on; 0: what was asked for
	remaining time.Duration
	holder    string
	clock     clockPair
}

func (a answer) grant(req lockrt.Request) lockrt.Grant {
	return grantOf(a.epoch, a.clock.At(a.since), a.ttl, req)
}

// grantOf is the grant of a lease that may be shorter or longer than what is asked for.
func grantOf(epoch uint64, start time.Time, ttl time.Duration, req lockrt.Request) lockrt.Grant {
	g := lockrt.Grant{Epoch: epoch, Start: start}
	if ttl != time.Duration(millis(req.TTL))*time.Millisecond {
		g.TTL = ttl
	}
	return g
}

func (a answer) busy(key string) *lockrt.BusyError {
	return &lockrt.BusyError{Key: key, Holder: a.holder, Remaining: a.remaining}
}

// The first number of an answer of several.
const (
	answerBusy = iota
	answerGranted
	answerLate
	answerBroken
)

// parseAnswer reads what acquire.lua returns. sent is a moment before the request was.
func parseAnswer(reply any, sent time.Time) (answer, error) {
	pair := func(micros int64) clockPair { return clockPair{Local: sent, Micros: micros} }
	if epoch, ok := reply.(int64); ok {
		return answer{granted: true, epoch: uint64(epoch), since: epoch, clock: pair(epoch)}, nil
	}
	values, _ := reply.([]any)
	var holder string
	var n [5]int64
	whole := len(values) > 0 && len(values) <= len(n)
	for i, value := range values {
		switch value := value.(type) {
		case int64:
			n[i%len(n)] = value
		case string:
			holder, whole = value, whole && i == 3
		default:
			whole = false
		}
	}
	switch kind := n[0]; {
	case whole && kind == answerBusy && len(values) == 4:
		return answer{
			remaining: time.Duration(n[1]) * time.Millisecond, holder: holder, clock: pair(n[2]),
		}, nil
	case whole && kind == answerGranted && len(values) == 5 && holder == "":
		return answer{
			granted: true, epoch: uint64(n[1]), since: n[2], ttl: time.Duration(n[4]) * time.Millisecond,
			clock: pair(n[3]),
		}, nil
	case whole && kind == answerLate && len(values) == 2:
		return answer{late: true, clock: pair(n[1])}, nil
	case whole && kind == answerBroken && len(values) == 2:
		return answer{broken: true, clock: pair(n[1])}, nil
	}
	return answer{}, fmt.Errorf("the lock script acquire answered %v; is another program writing to the lock's keys?",
		reply)
}

// millis rounds up: a lease is never shorter on the server than its holder believes.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }
