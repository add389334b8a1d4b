package storetest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// acquiring changes requests before, and grants after.
func acquiring(before func(*lockrt.Request), after func(*lockrt.Request, *lockrt.Grant)) func(*badSession) {
	return func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			before(&req)
			g, err := b.fullSession.Acquire(ctx, req)
			if err == nil {
				after(&req, &g)
			}
			return g, err
		}
	}
}

func asIs(*lockrt.Request, *lockrt.Grant) {}

// listing changes what is listed.
func listing(change func(*lockrt.LockInfo)) func(*badSession) {
	return func(b *badSession) {
		b.list = func(ctx context.Context, prefix string) ([]lockrt.LockInfo, error) {
			infos, err := b.fullSession.List(ctx, prefix)
			for i := range infos {
				change(&infos[i])
			}
			return infos, err
		}
	}
}

var shareFaults = map[string]fault{
	"readers exclude each other": {"Share/readers_hold_together", "busy", nil,
		acquiring(func(req *lockrt.Request) { req.Mode = lockrt.Write }, asIs)},
	"each reader has an epoch": {"Share/readers_hold_together", "have the epochs", nil,
		acquiring(func(*lockrt.Request) {}, func(req *lockrt.Request, g *lockrt.Grant) {
			if req.ID == "2" {
				g.Epoch++
			}
		})},
	"all permits have slot 0": {"Share/permits_have_slots_and_epochs", "has slot 0", nil,
		acquiring(func(*lockrt.Request) {}, func(_ *lockrt.Request, g *lockrt.Grant) { g.Slot = 0 })},
	"a permit counts again with each request": {"Share/same_id_again_is_the_same_grant", "for the same lease", nil,
		func(b *badSession) {
			var mu sync.Mutex
			calls := 0
			b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
				mu.Lock()
				if calls++; req.Permits > 0 {
					req.ID += string(rune('a' + calls))
				}
				mu.Unlock()
				return b.fullSession.Acquire(ctx, req)
			}
		}},
	"a second release is somebody else's": {"Share/a_double_release_changes_nothing", "second release", nil,
		func(b *badSession) {
			b.release = func(ctx context.Context, rel lockrt.Release) error {
				err := b.fullSession.Release(ctx, rel)
				if info, lookErr := b.fullSession.Inspect(ctx, rel.Key); errors.Is(err, lockrt.ErrLost) && lookErr == nil {
					rel.ID = info.Holders[0].ID
					return b.fullSession.Release(ctx, rel)
				}
				return err
			}
		}},
	"a renewal renews all": {"Share/each_is_renewed_and_checked_alone", "is over", nil, func(b *badSession) {
		b.renew = func(ctx context.Context, renewals []lockrt.Renewal) []error {
			for _, r := range renewals {
				info, _ := b.fullSession.Inspect(ctx, r.Key)
				for _, h := range info.Holders {
					r.ID = h.ID
					b.fullSession.Renew(ctx, []lockrt.Renewal{r})
				}
			}
			return make([]error, len(renewals))
		}
	}},
	"MinHold of a permit is forgotten": {"Share/minhold_keeps_a_slot", "want a *BusyError", nil, func(b *badSession) {
		b.release = func(ctx context.Context, rel lockrt.Release) error {
			rel.Keep = 0
			return b.fullSession.Release(ctx, rel)
		}
	}},
	"a list has one holder": {"Share/a_list_names_all_holders_and_kinds", "want one held by two readers", nil,
		listing(func(info *lockrt.LockInfo) { info.Holders = info.Holders[:min(1, len(info.Holders))] })},
	"a list does not say who waits for what": {"Share/a_list_names_all_holders_and_kinds", "waiters are", nil,
		listing(func(info *lockrt.LockInfo) {
			for i := range info.Waiters {
				info.Waiters[i].Permits = 0
			}
		})},
	"a break hits all": {"Share/break_of_one_of_several", "the broken lease is off the lock", nil, func(b *badSession) {
		b.brk = func(ctx context.Context, br lockrt.Breaking) error {
			info, err := b.fullSession.Inspect(ctx, br.Key)
			for _, h := range info.Holders {
				br.ID = h.ID
				err = errors.Join(err, b.fullSession.Break(ctx, br))
			}
			return err
		}
	}},
	"readers overtake the queue": {"ShareQueue/nobody_overtakes", "out of turn", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			if req.Mode == lockrt.Read {
				b.start(ctx, req) // so that it is seen to wait
				req.Key += " for readers alone"
			}
			return b.fullSession.Acquire(ctx, req)
		}
	}},
	"readers who give up stay in the queue": {"ShareQueue/a_waiter_that_leaves_the_head_lets_readers_in", "still waiting", nil,
		func(b *badSession) {
			b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
				done := b.start(context.WithoutCancel(ctx), req)
				select {
				case o := <-done:
					return o.grant, o.err
				case <-ctx.Done():
					return lockrt.Grant{}, ctx.Err()
				}
			}
		}},
	"the first limit counts for all": {"ShareQueue/a_limit_that_changes_in_mid_queue", "busy", nil,
		acquiring(func(req *lockrt.Request) { req.Permits = min(req.Permits, 3) }, asIs)},
	"nobody is recalled": {"ShareQueue/readers_are_recalled_when_somebody_waits", "not recalled",
		func(cfg *lockrt.SessionConfig) { cfg.Recall = nil }, nil},
	"a downgrade frees the lock": {"Downgrade/before_all_who_wait", "", nil, func(b *badSession) {
		b.down = func(ctx context.Context, d lockrt.Downgrading) (uint64, error) {
			if err := b.fullSession.Release(ctx, lockrt.Release{Key: d.Key, ID: d.ID}); err != nil {
				return 0, err
			}
			go b.fullSession.Acquire(ctx, lockrt.Request{
				Key: d.Key, ID: d.ID, TTL: time.Minute, Wait: lockrt.Forever, Mode: lockrt.Read,
			})
			return d.Epoch, nil
		}
	}},
	"a second downgrade is a loss": {"Downgrade/may_be_repeated", "downgrade: ", nil, func(b *badSession) {
		done := make(map[string]bool)
		b.down = func(ctx context.Context, d lockrt.Downgrading) (uint64, error) {
			if done[d.ID] {
				return 0, lockrt.ErrLost
			}
			done[d.ID] = true
			return b.fullSession.Downgrade(ctx, d)
		}
	}},
	"a downgrade keeps its epoch": {"Downgrade/may_be_repeated", "asked for a new one", nil, func(b *badSession) {
		b.down = func(ctx context.Context, d lockrt.Downgrading) (uint64, error) {
			d.NewEpoch = false
			return b.fullSession.Downgrade(ctx, d)
		}
	}},
	"whoever is over is downgraded": {"Downgrade/of_what_is_lost", "want ErrLost", nil, func(b *badSession) {
		b.down = func(ctx context.Context, d lockrt.Downgrading) (uint64, error) { return d.Epoch, nil }
	}},
	"readers and writers are one kind": {"ShareLocker/a_mix_with_a_witness", "together", nil, func(b *badSession) {
		b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
			if req.Permits == 0 {
				req.Mode = lockrt.Read
			}
			return b.fullSession.Acquire(ctx, req)
		}
	}},
}
