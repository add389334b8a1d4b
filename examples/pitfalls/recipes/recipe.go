// Package recipes holds the locks that people build with Redis by hand, one in
// each file: how it is written, the story of how it fails, and a scenario that
// makes it fail. Do not use them. The scenario of each also runs with wrappers
// that lockgen generated; those are in safe.go.
//
// The comments //locklint:ignore mark where locklint finds the mistake. They keep
// it silent here, where the mistakes are meant.
package recipes

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/pitfalls/internal/lab"
)

// Pitfall is one way in which a recipe fails.
type Pitfall struct {
	Recipe   string
	Scenario string
	File     string // of this package, with the recipe
	Check    string // the ID under which locklint finds it there; "" if it does not
	// ByHand runs the recipe, Safely the same scenario with this library.
	ByHand, Safely func(context.Context, *lab.Lab) (Outcome, error)
}

// Outcome is how a scenario ended. An error beside it means that it did not take
// place.
type Outcome struct {
	Safe bool
	What string // what happened
}

func failed(format string, args ...any) (Outcome, error) {
	return Outcome{What: fmt.Sprintf(format, args...)}, nil
}

func safe(format string, args ...any) (Outcome, error) {
	return Outcome{Safe: true, What: fmt.Sprintf(format, args...)}, nil
}

// endless is the outcome of a lock whose holder is gone: what, if nobody else has won it and it has no expiry.
func endless(l *lab.Lab, key string, won bool, what string) (Outcome, error) {
	expiry, err := l.Expiry(key)
	if err != nil {
		return Outcome{}, err
	}
	if won || expiry != lab.NoExpiry {
		return safe("the lock ends at %d", expiry)
	}
	return failed("%s", what)
}

// Pitfalls are all of them, in the order in which they are best read.
var Pitfalls = []Pitfall{
	{"SETNX, then EXPIRE", "crash between the two", "setnx_expire.go", "LL2005", crashBeforeExpire,
		inScene(crashedHolder)},
	{"SETNX and EXPIRE in MULTI", "others try while it is held", "multi_expire.go", "LL2005", losersRearm,
		inScene(knockingLosers)},
	{"SETNX without an expiry", "crash while holding it", "no_expiry.go", "LL2007", crashWithoutExpiry,
		inScene(crashedHolder)},
	{"SET NX, result ignored", "two at the same time", "ignored.go", "LL2001", bothGoOn, inScene(secondIsRefused)},
	{"SET NX, 30 meant as seconds", "any work at all", "seconds.go", "LL2006", overInNoTime, unitIsRequired},
	{"INCR = 1, then EXPIRE", "losers push the expiry", "incr.go", "LL2011", losersPush, inScene(knockingLosers)},
	{"INCR = 1, then EXPIRE", "crash between the two", "incr.go", "LL2011", countStays, inScene(crashedHolder)},
	{"timestamps with GETSET", "a late DEL after a take-over", "getset.go", "LL2009", twoWinners, inScene(pausedHolder)},
	{"timestamps with GETSET", "clocks that differ", "getset.go", "LL2009", skewedClock, inScene(secondIsRefused)},
	{"timestamps with GETSET", "GET finds nothing", "getset.go", "LL2009", loserOverwrites, inScene(oneAfterTheOther)},
	{"SET NX PX, then DEL", "job longer than the TTL", "plain_del.go", "LL2002", longJob, inScene(longJobIsRenewed)},
	{"SET NX PX, then DEL", "the late DEL", "plain_del.go", "LL2002", lateDel, inScene(pausedHolder)},
	{"GET = token, then DEL", "expiry between the two", "compare_del.go", "LL2004", expiryBeforeDel,
		inScene(pausedHolder)},
	{"the same token for all", "release after expiry", "constant_token.go", "LL2003", anyoneReleases,
		inScene(pausedHolder)},
	{"watchdog with EXPIRE", "pause beyond the TTL", "watchdog.go", "LL2008", outlivesItsLock, inScene(pausedHolder)},
	{"reentrant, counted in memory", "nested call after expiry", "reentrant.go", "LL2002", countsOn,
		inScene(nestedCallAfterLoss)},
	{"INCR and DECR as a semaphore", "crash while inside", "semaphore.go", "LL2012", permitsLeak, permitsReturn},
	{"a count of readers", "readers take turns", "readers.go", "", writerStarves, writerHasItsTurn},
	{"a count of readers", "two readers want to write", "readers.go", "", upgradesWait, upgradesAreRefused},
	{"released before the commit", "next buyer reads too early", "commit.go", "LL1009", readTooEarly, commitInside},
	{"retry without back-off", "one holder, one waiter", "storm.go", "LL2010", spinning, inScene(waiting)},
}

// compareAndDelete is the right way to release a lock by hand. The recipes that
// fail elsewhere use it.
var compareAndDelete = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)
