package redisstore

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/lockgen/lockgen/internal/timelimit"
)

// lastWord keeps why the last attempt of a call failed. If the call's time is over while another attempt is under way,
// that is the reason to report, and not that the server was silent.
type lastWord struct{ err error }

func (w *lastWord) hear(err error) {
	if isWord(err) {
		w.err = err
	}
}

// or returns what was heard if err says no more than that there was no answer.
func (w *lastWord) or(err error) error {
	if w.err == nil || isWord(err) {
		return err
	}
	return w.err
}

// isWord reports whether an error came from the server, or from the machine that should run it. A time-out does not.
func isWord(err error) bool {
	if err == nil {
		return false
	}
	dial := new(net.OpError)
	return isReply(err) || errors.As(err, &dial) && dial.Op == "dial" && !dial.Timeout()
}

// deadlineGrace is how much earlier than the end of its context the client's time-out may fire.
const deadlineGrace = 10 * time.Millisecond

// ended is ctx's error. A time-out of the client just before the deadline of ctx was made from that: it is waited for,
// so that nobody hears of the end of a context that lives.
func ended(ctx context.Context, err error) error {
	if over := timelimit.Ended(ctx); over != nil {
		return over
	}
	var timeout net.Error
	end, ok := ctx.Deadline()
	if !ok || time.Until(end) > deadlineGrace || !errors.As(err, &timeout) || !timeout.Timeout() {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(2 * deadlineGrace):
	}
	return timelimit.Ended(ctx)
}
