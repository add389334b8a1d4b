package locks

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Names are weak evidence, used only where the key alone cannot tell a lock from a cache entry: when the acquire and
// the release stand in different functions.

// lockWord finds lock, mutex and the like inside an identifier or a key, but neither block nor clock.
var lockWord = regexp.MustCompile(`(?i)(^|[^bc])lock|mutex|(^|[^a-z])mtx`)

// stateWord marks names that speak of locking something for people, not for processes.
var stateWord = regexp.MustCompile(`(?i)lockout|locked|user|account|member|wallet|password|login|screen`)

// forceWord marks functions whose purpose is to remove a lock whoever owns it.
var forceWord = regexp.MustCompile(`(?i)force|break|admin|reset|clear|clean|purge|evict|flush|expireall|` +
	`deleteall|invalidate`)

// otherWord marks the uses of SETNX that are no locks even where the key is given back.
var otherWord = regexp.MustCompile(`(?i)idempot|\bidem|_idem|(?-i:Idem)|dedup|duplicate|throttl|rate_?limit|` +
	`cooldown|debounce|nonce|replay|(?-i:OTP)|\botp|_otp|captcha`)

// The verbs that pair up. The rest of the two names must agree: LockOrder belongs to UnlockOrder.
var verbPairs = []struct{ acquire, release *regexp.Regexp }{
	{regexp.MustCompile(`(?i)^(?:try|must|get|spin|wait|do|set|add|create|take|grab|put)?_?lock`),
		regexp.MustCompile(`(?i)^(?:un|release|del|delete|free|remove|clear|do?un|try_?un)_?lock`)},
	{regexp.MustCompile(`(?i)^(?:try)?(?:acquire|obtain)`), regexp.MustCompile(`(?i)^(?:release|free|unlock)`)},
}

// On one type Release alone is the counterpart of Lock alone.
var (
	bareLock    = regexp.MustCompile(`(?i)^(?:try)?lock(?:context|ctx|withcontext)?$`)
	bareRelease = regexp.MustCompile(`(?i)^release(?:context|ctx|withcontext)?$`)
)

// namesPair reports whether two functions are the acquire and the release of one lock by their names and by where
// they are declared: methods of one type, or functions.
func namesPair(acquire, release *ssa.Function) bool {
	if ssax.ReceiverName(acquire) != ssax.ReceiverName(release) {
		return false
	}
	a, r := acquire.Name(), release.Name()
	if ssax.ReceiverName(acquire) != "" && bareLock.MatchString(a) && bareRelease.MatchString(r) ||
		strings.EqualFold("un"+a, r) && lockWord.MatchString(a) && !stateWord.MatchString(a) {
		return true
	}
	if lockWord.MatchString(a) && !stateWord.MatchString(a) && withoutTry(a) == withoutUn(r) {
		return true
	}
	for _, p := range verbPairs {
		a := p.acquire.FindString(acquire.Name())
		r := p.release.FindString(release.Name())
		if a == "" || r == "" {
			continue
		}
		restA, restR := subject(withoutTense(acquire.Name()[len(a):])), subject(release.Name()[len(r):])
		if restA == restR && !stateWord.MatchString(restA) {
			return true
		}
	}
	x, y := getsLock.FindStringSubmatch(acquire.Name()), endsLock.FindStringSubmatch(release.Name())
	return x != nil && y != nil && strings.EqualFold(x[1], y[1]) && subject(x[2]) == subject(y[2]) &&
		!stateWord.MatchString(x[1]+x[2])
}

// withoutTense is what is left of Acquired when Acquire is taken away: AcquiredLock belongs to ReleaseLock.
func withoutTense(rest string) string {
	for _, end := range []string{"ed", "d"} {
		after, cut := strings.CutPrefix(rest, end)
		if cut && (after == "" || after[0] == '_' || 'A' <= after[0] && after[0] <= 'Z') {
			return after
		}
	}
	return rest
}

// withoutTry and withoutUn bring RedisTryLock and RedisUnlock to the same name.
func withoutTry(acquire string) string {
	return strings.Replace(strings.ReplaceAll(strings.ToLower(acquire), "_", ""), "trylock", "lock", 1)
}

func withoutUn(release string) string {
	name := strings.ReplaceAll(strings.ToLower(release), "_", "")
	if !strings.Contains(name, "unlock") {
		return ""
	}
	return strings.Replace(name, "unlock", "lock", 1)
}

// The verbs around a noun: GetCouponLock belongs to DeleteCouponLock.
var (
	getsLock = regexp.MustCompile(`(?i)^(?:try|get|set|add|create|take|acquire|obtain)_?(\w+?)_?lock(\w*)$`)
	endsLock = regexp.MustCompile(`(?i)^(?:release|delete|del|free|remove|drop|un)_?(\w+?)_?lock(\w*)$`)
)

// lockType reports whether two functions are methods of one type that is a lock by its name.
func lockType(x, y *ssa.Function) bool {
	recv := ssax.ReceiverName(x)
	name := recv[strings.LastIndexByte(recv, '/')+1:]
	return recv != "" && recv == ssax.ReceiverName(y) && lockWord.MatchString(name) && !stateWord.MatchString(name)
}

// heldWord marks what somebody holds for a while, in addition to a lock's own names.
var heldWord = regexp.MustCompile(`(?i)lease|leader|elect|semaphore|owner|holder|claim|acquire|exclusive|singleton`)

// saysHeld reports whether a command's key, function or type says that somebody holds something.
func saysHeld(c *rediscmd.Command) bool {
	return saysLock(c) || heldWord.MatchString(c.Fn.Name()) || heldWord.MatchString(ssax.ReceiverName(c.Fn)) ||
		c.Key.Any(func(k keyexpr.Expr) bool {
			return k.Op != keyexpr.Local && k.Op != keyexpr.Param && heldWord.MatchString(k.Text)
		})
}

// tokenWord marks the value of a lock.
var tokenWord = regexp.MustCompile(`(?i)token|owner|holder|uuid|ident|ksuid|ulid`)

// storesToken reports whether the value of an acquire is a token by its name.
func storesToken(a *rediscmd.Command) bool {
	return a.Value.Any(func(k keyexpr.Expr) bool {
		i, err := strconv.Atoi(k.Text)
		switch {
		case k.Op == keyexpr.Param && err == nil && i < len(a.Fn.Params):
			return tokenWord.MatchString(a.Fn.Params[i].Name())
		case k.Op == keyexpr.Field, k.Op == keyexpr.Call:
			return tokenWord.MatchString(k.Text[strings.LastIndexByte(k.Text, '/')+1:])
		}
		return false
	})
}

// endsHandle reports whether release is a method by which the handle that acquire returns ends.
func endsHandle(acquire, release *ssa.Function) bool {
	return Belongs(acquire, release) && endWord.MatchString(release.Name()) && takesLock.MatchString(acquire.Name())
}

var (
	endWord   = regexp.MustCompile(`^(?:Close|Done|End|Free|Cancel|Stop)$`)
	takesLock = regexp.MustCompile(`(?i)lock|acquire|obtain|mutex|lease`)
)

// isRelease reports whether a function is a release by its name.
func isRelease(fn *ssa.Function) bool {
	for _, p := range verbPairs {
		if p.release.MatchString(fn.Name()) {
			return true
		}
	}
	return false
}

// subject is what is left of a function's name without its verb: the thing locked. Context and Key are variants of
// the same operation.
func subject(rest string) string {
	rest = strings.ToLower(rest)
	for _, suffix := range []string{"context", "ctx", "withttl", "withtimeout", "withexpire", "key", "redis", "now"} {
		rest = strings.TrimSuffix(rest, suffix)
	}
	return strings.Trim(strings.TrimSuffix(rest, "lock"), "_")
}

// saysLock reports whether a command's key, or the functions around it, speak of a lock.
func saysLock(c *rediscmd.Command) bool {
	if speaksOfLock(c.Key) {
		return true
	}
	recv := ssax.ReceiverName(c.Fn)
	for _, name := range []string{c.Fn.Name(), c.Via, recv[strings.LastIndexByte(recv, '/')+1:]} {
		if lockWord.MatchString(name) && !stateWord.MatchString(name) {
			return true
		}
	}
	return false
}

// TakesLock reports whether an acquire certainly means to take a lock, even though nothing in sight releases it.
func TakesLock(c *rediscmd.Command) bool {
	name := c.Fn.Name()
	if c.Key.Fresh() {
		return false // nobody else can have it
	}
	if c.Leased {
		return !speaksOfOther(c.Fn, c.Key)
	}
	return !speaksOfOther(c.Fn, c.Key) && !stateWord.MatchString(name) && !stateWord.MatchString(c.Key.Quoted()) &&
		(speaksOfLock(c.Key) || takesBare.MatchString(name))
}

var takesBare = regexp.MustCompile(`(?i)^(?:(?:try|get|set|acquire|obtain|take|spin|redis|dist(?:ributed)?)_?)?lock(?:context|ctx)?$`)

// MayBeLock reports whether nothing about a command says that it is about something else than a lock.
func MayBeLock(c *rediscmd.Command) bool { return !c.Key.Fresh() && !speaksOfOther(c.Fn, c.Key) }

// Speaks reports whether a command's key, or the functions around it, speak of a lock and of nothing else.
func Speaks(c *rediscmd.Command) bool { return saysLock(c) && !speaksOfOther(c.Fn, c.Key) }

// isForced reports whether a function means to remove other people's locks.
func isForced(fn *ssa.Function) bool { return forceWord.MatchString(fn.Name()) }

// speaksOfOther reports whether a function, its type or a key says that it is about something else than a lock.
func speaksOfOther(fn *ssa.Function, k keyexpr.Expr) bool {
	if otherWord.MatchString(fn.Name()) {
		return true
	}
	recv := ssax.ReceiverName(fn)
	if otherWord.MatchString(recv[strings.LastIndexByte(recv, '/')+1:]) {
		return true
	}
	return k.Any(func(k keyexpr.Expr) bool {
		return k.Op != keyexpr.Local && k.Op != keyexpr.Param &&
			otherWord.MatchString(k.Text[strings.LastIndexByte(k.Text, '/')+1:])
	})
}

// throughOther reports whether a function on the way to a command says that it is about something else than a lock, as the
// methods of a guard against replays do that their callers go through.
func throughOther(c *rediscmd.Command) bool {
	for c = c.Origin; c != nil; c = c.Origin {
		if speaksOfOther(c.Fn, c.Key) {
			return true
		}
	}
	return false
}

// calledLock is the word lock by itself, as in idempotency:lock:42: the key of the lock beside that of a result.
var calledLock = regexp.MustCompile(`(?i)(?:^|[^a-z])lock(?:[^a-z]|$)`)

// isCalledLock reports whether the text of a key says that it is a lock, whatever else it speaks of.
func isCalledLock(k keyexpr.Expr) bool {
	return k.Any(func(k keyexpr.Expr) bool { return k.Op == keyexpr.Lit && calledLock.MatchString(k.Text) })
}

// speaksOfLock reports whether the text of a key, or of what it is made of, says that it is a lock. The locked
// account and the locked-out user are business state.
func speaksOfLock(k keyexpr.Expr) bool {
	says := false
	business := k.Any(func(k keyexpr.Expr) bool {
		text := k.Text
		switch k.Op {
		case keyexpr.Call, keyexpr.Field, keyexpr.Global:
			text = text[strings.LastIndexByte(text, '/')+1:]
		case keyexpr.Lit:
		default:
			return false
		}
		says = says || lockWord.MatchString(text)
		return strings.Contains(strings.ToLower(text), "lockout") || strings.Contains(strings.ToLower(text), "locked")
	})
	return says && !business
}
