package redisstore

import (
	"fmt"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// answer is what acquire.lua said.
type answer struct {
	granted   bool
	broken    bool // an operator broke the lease after its grant
	late      bool // the script ran after the request's latest moment
	shared    bool // acquire_shared.lua has to be asked
	epoch     uint64
	slot      int           // the permit's slot
	since     int64         // µs of the server's clock
	ttl       time.Duration // counted from since; 0 if it is the TTL of the request
	remaining time.Duration
	holder    string
	holders   int // how many share the lock
	clock     clockPair
}

func (a answer) grant(req lockrt.Request) lockrt.Grant {
	return grantOf(pushed{epoch: a.epoch, ttl: a.ttl, slot: a.slot}, a.clock.At(a.since), req)
}

// grantOf is the grant of a lease that may be shorter or longer than what is asked for.
func grantOf(p pushed, start time.Time, req lockrt.Request) lockrt.Grant {
	g := lockrt.Grant{Epoch: p.epoch, Slot: p.slot, Start: start}
	if ttl := p.ttl; ttl != time.Duration(millis(req.TTL))*time.Millisecond {
		g.TTL = ttl
	}
	return g
}

func (a answer) busy(key string) *lockrt.BusyError {
	return &lockrt.BusyError{Key: key, Holder: a.holder, Holders: a.holders, Remaining: a.remaining}
}

// The first number of an answer of several.
const (
	answerBusy = iota
	answerGranted
	answerLate
	answerBroken
	answerShared
)

// parseAnswer reads what acquire.lua and acquire_shared.lua return. sent is a moment before the request was.
func parseAnswer(reply any, sent time.Time) (answer, error) {
	pair := func(micros int64) clockPair { return clockPair{Local: sent, Micros: micros} }
	if epoch, ok := reply.(int64); ok {
		return answer{granted: true, epoch: uint64(epoch), since: epoch, clock: pair(epoch)}, nil
	}
	values, _ := reply.([]any)
	var holder string
	var n [6]int64
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
	case whole && kind == answerBusy && (len(values) == 4 || len(values) == 5):
		return answer{
			remaining: time.Duration(n[1]) * time.Millisecond, holder: holder, holders: int(n[4]), clock: pair(n[2]),
		}, nil
	case whole && kind == answerGranted && len(values) >= 5 && holder == "":
		return answer{
			granted: true, epoch: uint64(n[1]), since: n[2], ttl: time.Duration(n[4]) * time.Millisecond,
			slot: int(n[5]), clock: pair(n[3]),
		}, nil
	case whole && kind == answerLate && len(values) == 2:
		return answer{late: true, clock: pair(n[1])}, nil
	case whole && kind == answerBroken && len(values) == 2:
		return answer{broken: true, clock: pair(n[1])}, nil
	case whole && kind == answerShared && len(values) == 2:
		return answer{shared: true, clock: pair(n[1])}, nil
	}
	return answer{}, fmt.Errorf("the lock script acquire answered %v; is another program writing to the lock's keys?",
		reply)
}

// millis rounds up: a lease is never shorter on the server than its holder believes.
func millis(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }
