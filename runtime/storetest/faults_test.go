package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// fault is what a store does wrong.
type fault struct {
	test string                      // the one that must find it
	says string                      // part of why it fails
	open func(*lockrt.SessionConfig) // changes with what sessions are opened; or nil
	bad  func(*badSession)           // changes what sessions do; or nil
}

var faults = map[string]fault{
	"grants to everybody": {"Acquire/busy_names_holder_and_rest", "want a *BusyError", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			req.Key += req.ID
			return b.fullSession.Acquire(ctx, req)
		}
	}},
	"does not say who is in the way": {"Acquire/busy_names_holder_and_rest", "holder", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			g, err := b.fullSession.Acquire(ctx, req)
			if errors.Is(err, lockrt.ErrBusy) {
				err = &lockrt.BusyError{Key: req.Key}
			}
			return g, err
		}
	}},
	"grants begin in the future": {"Acquire/start_is_not_after_the_request", "in the future", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			g, err := b.fullSession.Acquire(ctx, req)
			g.Start = g.Start.Add(time.Hour)
			return g, err
		}
	}},
	"a repeated call is a new lease": {"Acquire/same_id_again_is_the_same_grant", "busy", nil, func(b *badSession) {
		calls := 0
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			calls++
			req.ID += fmt.Sprint(" ", calls)
			return b.fullSession.Acquire(ctx, req)
		}
	}},
	"ids that begin alike are one": {"Acquire/an_id_that_begins_like_the_owner's_is_another", "job-1 of the lock", nil,
		func(b *badSession) {
			b.release = func(ctx context.Context, rel lockrt.Release) error {
				if info, err := b.fullSession.Inspect(ctx, rel.Key); err == nil && strings.HasPrefix(info.ID, rel.ID) {
					rel.ID = info.ID
				}
				return b.fullSession.Release(ctx, rel)
			}
		}},
	"epochs begin anew": {"Acquire/epochs_grow_over_sessions_and_recreation", "epoch", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			g, err := b.fullSession.Acquire(ctx, req)
			g.Epoch = 1
			return g, err
		}
	}},
	"an ended context acquires": {"Acquire/ended_context_is_the_error", "want context.Canceled", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			return b.fullSession.Acquire(context.WithoutCancel(ctx), req)
		}
	}},
	"namespaces are one": {"Acquire/namespaces_do_not_touch_each_other", "busy",
		func(cfg *lockrt.SessionConfig) { cfg.Namespace = "" }, nil},
	"keys are cut at a brace": {"Acquire/keys_do_not_touch_each_other", "busy", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			req.Key, _, _ = strings.Cut(req.Key, "}")
			return b.fullSession.Acquire(ctx, req)
		}
	}},
	"who gives up stays in the queue": {"Wait/random_cancellation", "stay in the queue", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			o := b.start(context.WithoutCancel(ctx), req)
			select {
			case o := <-o:
				return o.grant, o.err
			case <-ctx.Done():
				return lockrt.Grant{}, ctx.Err()
			}
		}
	}},
	"the end of a wait is a context's": {"Wait/wait_that_runs_out_is_busy", "want a *BusyError", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			g, err := b.fullSession.Acquire(ctx, req)
			if errors.Is(err, lockrt.ErrBusy) {
				err = context.DeadlineExceeded
			}
			return g, err
		}
	}},
	"close leaves those who wait": {"Wait/close_ends_the_wait", "still waiting", nil, func(b *badSession) {
		b.close = func(context.Context) error { return nil }
	}},
	"a grant that crosses with the context's end is kept": {"Crossing/context", "still waiting", nil, keepCrossing},
	"a grant that crosses with the wait's end is kept":    {"Crossing/wait", "free again", nil, keepCrossing},
	"a grant that crosses with Close is kept":             {"Crossing/close", "still waiting", nil, keepCrossing},
	"renewals do nothing": {"Renew/lengthens", "after a renewal", nil, func(b *badSession) {
		b.renew = func(_ context.Context, renewals []lockrt.Renewal) []error { return make([]error, len(renewals)) }
	}},
	"renewals are answered backwards": {"Renew/each_result_is_its_own_lease's", "renewal of", nil, func(b *badSession) {
		b.renew = func(ctx context.Context, renewals []lockrt.Renewal) []error {
			errs := b.fullSession.Renew(ctx, renewals)
			slices.Reverse(errs)
			return errs
		}
	}},
	"a late renewal shortens": {"Renew/never_shortens", "after a shorter renewal", nil, func(b *badSession) {
		b.renew = func(ctx context.Context, renewals []lockrt.Renewal) []error {
			for _, r := range renewals { // the memory store does not shorten: the lease ends and begins anew
				_ = b.fullSession.Release(ctx, lockrt.Release{Key: r.Key, ID: r.ID})
				_, _ = b.fullSession.Acquire(ctx, lockrt.Request{Key: r.Key, ID: r.ID, TTL: r.TTL})
			}
			return make([]error, len(renewals))
		}
	}},
	"MinHold is forgotten": {"Release/keep_holds_the_key_for_nobody", "kept", nil, func(b *badSession) {
		b.release = func(ctx context.Context, rel lockrt.Release) error {
			rel.Keep = 0
			return b.fullSession.Release(ctx, rel)
		}
	}},
	"what is kept is forgotten when it has just been renewed": {"ReleaseCrossing/a_longer_renewal", "not passed on", nil,
		func(b *badSession) {
			var renewed atomic.Bool
			b.renew = func(ctx context.Context, renewals []lockrt.Renewal) []error {
				renewed.Store(true)
				return b.fullSession.Renew(ctx, renewals)
			}
			b.release = func(ctx context.Context, rel lockrt.Release) error {
				if renewed.Swap(false) && rel.Keep > 0 {
					return lockrt.ErrLost
				}
				return b.fullSession.Release(ctx, rel)
			}
		}},
	"a second release is a success": {"Release/only_once", "want ErrLost", nil, func(b *badSession) {
		b.release = func(ctx context.Context, rel lockrt.Release) error {
			_ = b.fullSession.Release(ctx, rel)
			return nil
		}
	}},
	"lists are not sorted": {"List/by_prefix_and_sorted", "want", nil, func(b *badSession) {
		b.list = func(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
			infos, err := b.fullSession.List(ctx, prefix)
			slices.Reverse(infos)
			return infos, err
		}
	}},
	"who lost a lock by Break is not told": {"List/break_moves_the_lock_on", "not told",
		func(cfg *lockrt.SessionConfig) { cfg.Lost = func(string, error) {} }, nil},
	"a broken lock goes on before its holder knows": {"Break/the_lock_goes_on_when_Lost_has_returned", "did not know",
		func(cfg *lockrt.SessionConfig) {
			lost := cfg.Lost
			cfg.Lost = func(id string, reason error) { go lost(id, reason) }
		}, nil},
	"a broken lock goes on as its holder's session closes": {
		"Break/the_lock_goes_on_when_Lost_returns_to_a_session_that_closes", "did not know",
		func(cfg *lockrt.SessionConfig) {
			lost := cfg.Lost
			cfg.Lost = func(id string, reason error) { go lost(id, reason) }
		}, nil,
	},
	"a broken lease is renewed": {"Break/renewal_is_refused", "want ErrLost", nil, func(b *badSession) {
		b.renew = func(_ context.Context, renewals []lockrt.Renewal) []error { return make([]error, len(renewals)) }
	}},
	"a break hits whoever holds the lock": {"Break/a_repeated_break_hits_nobody_else", "that nobody broke", nil,
		func(b *badSession) {
			b.brk = func(ctx context.Context, br lockrt.Breaking) error {
				if info, err := b.fullSession.Inspect(ctx, br.Key); err == nil {
					br.ID, br.Fence = info.ID, info.Fence
				}
				return b.fullSession.Break(ctx, br)
			}
		}},
	"force does nothing": {"Break/force_hands_on_at_once", "still waiting", nil, func(b *badSession) {
		b.brk = func(context.Context, lockrt.Breaking) error { return nil }
	}},
	"the first of two breaks is not heard of": {"BreakCrossing/two_in_a_row_with_waiters", "lives",
		func(cfg *lockrt.SessionConfig) { cfg.Lost = func(string, error) {} }, nil},
	"a break that crosses with a grant is forgotten": {"BreakCrossing/crossing_with_a_direct_grant", "at the same time",
		func(cfg *lockrt.SessionConfig) { cfg.Lost = func(string, error) {} }, nil},
	"a break that crosses with a grant to a waiter is forgotten": {
		"BreakCrossing/crossing_with_a_grant_to_a_waiter", "at the same time",
		func(cfg *lockrt.SessionConfig) { cfg.Lost = func(string, error) {} }, nil},
	"says nothing to those who wait": {"Told/the_holder_is_named_while_a_request_waits", "says nothing", nil,
		func(b *badSession) {
			b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
				req.Told = nil
				return b.fullSession.Acquire(ctx, req)
			}
		}},
	"a kept place is lost": {"Told/a_kept_place_is_kept", "was not kept", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			if keep := req.Keep; keep != nil {
				req.Keep = func() bool { return keep() && false }
			}
			return b.fullSession.Acquire(ctx, req)
		}
	}},
	"a place that was kept cannot be given up": {"Told/a_kept_place_is_given_up", "still waiting", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			if err := ctx.Err(); err != nil {
				return lockrt.Grant{}, err
			}
			return b.fullSession.Acquire(ctx, req)
		}
	}},
	"a free lock is busy": {"Told/nobody_is_busy_without_a_holder", "not ErrBusy", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			g, err := b.fullSession.Acquire(ctx, req)
			if err != nil {
				err = errors.Join(err, &lockrt.BusyError{Key: req.Key})
			}
			return g, err
		}
	}},
}
