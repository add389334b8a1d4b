package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// breakLock takes a lock from whoever holds it, or from the one holder whose lease the form names.
var breakLock = &action{
	verb: "break", param: "key", needs: true, danger: true,
	explain: func(q *request, key string) (*question, error) {
		info, err := q.d.locks.Holder(q.ctx, key)
		switch lease := q.r.FormValue("lease"); {
		case errors.Is(err, lockrt.ErrNotHeld), errors.Is(err, lockrt.ErrKey):
			return nil, q.problemOf("break", quote(key), err)
		case errors.As(err, new(*crash)):
			return nil, err
		case err != nil:
			return nil, q.storeProblem("the holder of lock "+quote(key), err)
		case lease != "":
			return q.askForOne(key, lease, info)
		case shared(info):
			return q.askForAll(key, info), nil
		}
		return &question{
			Title: "Break the lock " + key + "?", Button: "Break the lock", Back: address("locks"), Holder: seenHolder(info),
			Text: []string{
				fmt.Sprintf("It is held by %s, with fence %d, since %s.", holderName(info), info.Fence, q.moment(info.Since).Away),
				told,
			},
		}, nil
	},
	do: func(q *request, ctx context.Context, key, reason string) (string, string, error) {
		info, err := q.d.locks.Holder(ctx, key)
		if err != nil {
			return "", "", err
		}
		reason = signed(reason, q.author())
		if lease := q.r.PostForm.Get("lease"); lease != "" {
			return q.breakOne(ctx, key, lease, reason, info)
		}
		if q.r.PostForm.Get("holder") != seenHolder(info) {
			return "", "", &problem{Status: http.StatusConflict, Title: "The lock has changed hands",
				Text:   fmt.Sprintf("It is held by %s now, with fence %d. Nothing was broken.", holderName(info), info.Fence),
				Advice: "Confirm again if you mean this holder too."}
		}
		if err = q.d.locks.BreakSeen(ctx, info, reason); errors.Is(err, lockrt.ErrNotHeld) {
			return "", "", goneHolder(key)
		}
		return "Broke the lock " + quote(key) + ". The next in line has it now.", address("locks"), err
	},
}

const told = "The holder is told at once and the context of its work ends. Work that ignores this goes on beside the next " +
	"holder’s; only what checks the fence refuses its late writes."

// seenHolder is by what a form knows that a lock has changed hands. Those who hold permits come and go by themselves.
func seenHolder(info lockrt.LockInfo) string {
	if info.Limit > 0 {
		return "permits"
	}
	return strconv.FormatUint(uint64(info.Fence), 10)
}

// askForAll asks about a lock that several hold together, and offers to break one of them.
func (q *request) askForAll(key string, info lockrt.LockInfo) *question {
	return &question{
		Title: "Break the lock " + key + " for all?", Button: "Break it for all", Back: address("locks"),
		Holder: seenHolder(info), Each: q.holderRows(info), Key: key,
		Text: []string{
			fmt.Sprintf("It is held by %s. All of them are told at once, and the contexts of their work end. Work that ignores "+
				"this goes on beside the next holder’s; only what checks the fence refuses its late writes.", sharers(info)),
			"To break it for one of them, choose that one below.",
		},
	}
}

// askForOne asks about one of several holders.
func (q *request) askForOne(key, lease string, info lockrt.LockInfo) (*question, error) {
	h, ok := holderOf(info, lease)
	if !ok {
		return nil, goneHolder(key)
	}
	return &question{
		Title: "Break the lock " + key + " for " + h.Node + "?", Button: "Break it for this one", Back: address("locks"),
		Lease: lease,
		Text: []string{
			fmt.Sprintf("%s holds it%s, with fence %d, since %s. The lock is held by %s; the others keep it.", h.Node, slotText(h),
				h.Fence, q.moment(h.Since).Away, sharers(info)),
			told,
		},
	}, nil
}

func (q *request) breakOne(ctx context.Context, key, lease, reason string, info lockrt.LockInfo) (string, string, error) {
	h, ok := holderOf(info, lease)
	if !ok {
		return "", "", goneHolder(key)
	}
	err := q.d.locks.BreakLease(ctx, key, lease, reason)
	return "Broke the lock " + quote(key) + " for " + h.Node + ". The others keep it.", address("locks"), err
}

func goneHolder(key string) *problem {
	return &problem{Status: http.StatusConflict, Title: "This holder is gone",
		Text:   "It does not hold the lock " + quote(key) + " any more. Nothing was broken.",
		Advice: "See the list of locks for who holds it."}
}

func slotText(h lockrt.Holder) string {
	if h.Slot < 0 {
		return ""
	}
	return fmt.Sprintf(" by permit %d", h.Slot)
}
