package storetest_test

import (
	"context"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// severalFaults are what the tests with sets of locks, and with calls that share a lease, must find.
var severalFaults = map[string]fault{
	"sets of locks exclude nobody": {"Several/sets_that_overlap_in_any_order_do_not_deadlock", "under its lock", nil,
		grantsToEverybody},
	"one lock of a set stays": {"Several/a_set_is_held_whole_or_not_at_all", `only ["k7"] are held`, nil,
		func(b *badSession) {
			b.release = func(ctx context.Context, rel lockrt.Release) error {
				if rel.Key == "k0" {
					return nil
				}
				return b.fullSession.Release(ctx, rel)
			}
		}},
	"who lost one lock of a set is not told": {"Several/loss_of_one_of_a_set_ends_the_context_of_all", "context ends",
		func(cfg *lockrt.SessionConfig) { cfg.Lost = func(string, error) {} }, nil},
	"everybody enters what a chain holds": {"Reentrant/call_shares_the_lease_of_its_chain", "want ErrBusy", nil,
		grantsToEverybody},
	"who lost what a chain shares is not told": {"Reentrant/calls_end_with_the_lease_that_they_share", "contexts end",
		func(cfg *lockrt.SessionConfig) { cfg.Lost = func(string, error) {} }, nil},
}

func grantsToEverybody(b *badSession) {
	b.acquire = func(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
		req.Key += req.ID
		return b.fullSession.Acquire(ctx, req)
	}
	b.release = func(context.Context, lockrt.Release) error { return nil }
}
