package lockrt

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Forever as Options.Wait waits until the context ends. If the context has no end, it waits as long as the store
// answers.
const Forever time.Duration = math.MaxInt64

const (
	minTTL    = 10 * time.Millisecond
	maxTTL    = 30 * 24 * time.Hour
	maxWait   = 100 * 365 * 24 * time.Hour
	maxKeyLen = 4096
)

// Options says how one lock is acquired and kept.
type Options struct {
	// TTL is the length of the lease: a holder that dies frees the lock after at most this. Required, from 10 ms to
	// 30 days.
	TTL time.Duration
	// Wait is how long to wait for a busy lock: 0 tries once, [Forever] waits until the context ends.
	Wait time.Duration
	// MinHold keeps the lock at least this long after it was acquired, even if it is released earlier. It is for work
	// that must not start again elsewhere at once. It counts at the release: a lease that is lost, by the death of its
	// process or a store that does not answer, frees the lock at the end of its TTL. Defaults to 0; at most 30 days.
	MinHold time.Duration
	// MaxHold ends the lease this long after it was acquired, even if the store would renew it: its context is
	// cancelled with ErrLost, and renewal stops. Defaults to 0: no limit.
	MaxHold time.Duration
	// NoRenew leaves the lease to end after its TTL. By default it is renewed until it is released. A store that gives
	// less than the TTL at a time is asked again until the TTL is over.
	NoRenew bool
	// Reentrant lets a call chain that already holds the key share that lease (same fence, released by the outermost)
	// instead of failing with ErrNested. Two options of the inner call apply: MaxHold ends the inner lease alone, and
	// MinHold keeps the lock for that long after the inner call too. The other options are those of the outer lease.
	Reentrant bool

	// Mode is Write or Read. Readers of a key hold it together; a writer holds it alone. Both wait in one queue in the
	// order of their arrival, so neither starves. A store that has exclusive locks only refuses Read with
	// errors.ErrUnsupported. Defaults to Write.
	Mode Mode
	// Permits is how many leases may hold the key at the same time, up to 1000. Each has a number of its own, see
	// [Lease.Slot]. A caller with another number waits until fewer than its own hold the key. The leases of permits and
	// those of readers and writers exclude each other, also if Permits is 1. With MinHold the permit stays taken that
	// long after its start, so Permits and a MinHold of one second mean so many starts a second. With a TTL of at least
	// MinHold that also holds for leases that are lost. A store that has exclusive locks only refuses it with
	// errors.ErrUnsupported. Defaults to 0: none, the Mode counts.
	Permits int
}

func (o Options) validate() error {
	switch {
	case o.TTL == 0:
		return fmt.Errorf("%w: TTL is missing; set it to the time after which a dead holder's lock may be taken over, "+
			"such as 30*time.Second", ErrOptions)
	case o.TTL < minTTL || o.TTL > maxTTL:
		return fmt.Errorf("%w: TTL is %s; it must be between %s and %s", ErrOptions, o.TTL, minTTL, maxTTL)
	case o.Wait < 0:
		return fmt.Errorf("%w: Wait is %s; use 0 to try once or Forever to wait until the context ends", ErrOptions, o.Wait)
	case o.MinHold < 0 || o.MaxHold < 0:
		return fmt.Errorf("%w: MinHold is %s and MaxHold %s; neither may be negative", ErrOptions, o.MinHold, o.MaxHold)
	case o.MinHold > maxTTL:
		return fmt.Errorf("%w: MinHold is %s; nobody gets the lock meanwhile, so it may be %s at the most",
			ErrOptions, o.MinHold, maxTTL)
	case o.MaxHold > 0 && o.MinHold > o.MaxHold:
		return fmt.Errorf("%w: MinHold %s is longer than MaxHold %s", ErrOptions, o.MinHold, o.MaxHold)
	}
	return o.validateKind()
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrKey)
	case len(key) > maxKeyLen:
		return fmt.Errorf("%w: it is %d bytes long, more than %d; hash the long part", ErrKey, len(key), maxKeyLen)
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("%w: %s holds a zero byte", ErrKey, quote(key))
	}
	return nil
}

// margin is what a holder gives away at the end of its lease: for the drift of two clocks over the TTL and for the
// time between the timer's end and the moment the holder's goroutine sees its context cancelled.
func margin(ttl time.Duration) time.Duration {
	return min(max(ttl/50, 2*time.Millisecond), 5*time.Second)
}
