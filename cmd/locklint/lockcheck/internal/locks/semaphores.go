package locks

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/answers"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// semaphoreWord finds names of what is held for a while by a number of holders.
var semaphoreWord = regexp.MustCompile(`(?i)semaphore|(^|[^a-z])sem([^a-z]|$)|slot|permit|concurren|parallel|in_?flight|running|` +
	`active|worker|conn(?:ection)?s?([^a-z]|$)|executing`)

// stockWord marks counters of things, people and events: taking one back is business, not a release.
var stockWord = regexp.MustCompile(`(?i)stock|inventor|quantit|balance|credit|coupon|ticket|like|follow|vote|favou?rit|` +
	`comment|daily|hourly|per_?(?:day|hour|minute|second)|window|rate|quota|attempt|retr|usage|visit|view|unread`)

// takeVerbs and giveVerbs begin the names of functions that take a permit and give it back.
var (
	takeVerbs = regexp.MustCompile(`(?i)^(?:try_?)?(?:acquire|obtain|take|reserve|enter|inc(?:r|rement|rease)?|begin|start|get|lock|wait)`)
	giveVerbs = regexp.MustCompile(`(?i)^(?:do_?)?(?:release|free|give|put|return|leave|exit|dec(?:r|rement|rease)?|end|finish|done|stop|unlock)`)
)

// FindSemaphores pairs INCR, whose count is compared with a limit, with the DECR of those who got in. A DECR that takes
// back the count of one who did not, or what has failed, belongs to a quota: there nothing is held.
func (ix *Set) FindSemaphores() {
	var counts, releases []*rediscmd.Command
	for _, fn := range ix.Funcs {
		for _, c := range ix.Commands[fn] {
			switch {
			case !c.Key.Known() || ix.InTest(c.Pos()):
			case c.Op == ops.Count:
				counts = append(counts, c)
			case c.Op == ops.Uncount:
				releases = append(releases, c)
			}
		}
	}
	for _, c := range counts {
		if len(releases) == 0 || !answers.HasLimit(c) {
			continue
		}
		for _, r := range releases {
			if ix.isSemaphore(c, r) {
				ix.Semaphores = append(ix.Semaphores, &Lock{Acquire: c, Release: r})
			}
		}
	}
	slices.SortStableFunc(ix.Semaphores, func(a, b *Lock) int { return ix.distance(a) - ix.distance(b) })
}

func (ix *Set) isSemaphore(c, r *rediscmd.Command) bool {
	switch {
	case c.Call == r.Call || c.Ended || r.Ended || r.Forced || ssax.UndoesFailure(r.Call):
		return false
	case (isStock(c) || isStock(r)) && !saysSemaphore(c):
		return false
	case c.Fn == r.Fn:
		return c.Key.String() == r.Key.String() && ssax.ComesAfter(c.Call, r.Call) && heldUntil(c, r)
	case isForced(r.Fn) || ix.acquires(r):
		return false
	case isRelease(r.Fn) && handsOn(c, r.Key):
		return true
	}
	return c.Key.Shape() == r.Key.Shape() && (givesBack(c.Fn, r.Fn) || c.Key.Distinctive() && saysSemaphore(c) &&
		giveVerbs.MatchString(r.Fn.Name()))
}

// heldUntil reports whether a DECR in the function of its INCR runs for those within the limit, when their work is done:
// it is deferred or stands in a function literal, or comes after the test on their way only.
func heldUntil(c, r *rediscmd.Command) bool {
	switch answers.WhenWithin(c, r.Call) {
	case answers.OnlyHeld:
		return true
	case answers.OnlyLost:
		return false
	}
	return ssax.IsDeferred(r.Call) || r.Call.Parent() != c.Call.Parent()
}

// givesBack reports whether two functions of one type, or two functions, take and give back one thing by their names.
func givesBack(take, give *ssa.Function) bool {
	a, b := takeVerbs.FindString(take.Name()), giveVerbs.FindString(give.Name())
	return a != "" && b != "" && ssax.ReceiverName(take) == ssax.ReceiverName(give) &&
		subject(take.Name()[len(a):]) == subject(give.Name()[len(b):]) && !genericCounter(take.Name()+give.Name())
}

// genericCounter reports whether names are those of the bare commands, as a client's wrapper has them.
func genericCounter(names string) bool {
	return slices.Contains([]string{"incrdecr", "incrementdecrement", "increasedecrease", "incdec"}, strings.ToLower(names))
}

func isStock(c *rediscmd.Command) bool { return stockWord.MatchString(namesOf(c)) }

func saysSemaphore(c *rediscmd.Command) bool { return semaphoreWord.MatchString(namesOf(c)) }

// namesOf is what a command's function, type and key are called, in one text.
func namesOf(c *rediscmd.Command) string {
	recv := ssax.ReceiverName(c.Fn)
	words := []string{c.Fn.Name(), recv[strings.LastIndexByte(recv, '/')+1:]}
	c.Key.Any(func(k keyexpr.Expr) bool {
		if k.Op != keyexpr.Local && k.Op != keyexpr.Param {
			words = append(words, k.Text[strings.LastIndexByte(k.Text, '/')+1:])
		}
		return false
	})
	return strings.Join(words, " ")
}
