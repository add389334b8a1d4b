package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// This file is what knows whether a promise is broken in the random test, see chaos_test.go.

// granting is what the store gave once.
type granting struct {
	session *chaosSession
	key, id string
	epoch   uint64
	at      time.Time
	kind    string
	flagged int // how often in turn nobody answered for it
}

// holding is a lease that a caller was given.
type holding struct {
	lease     *lockrt.Lease
	session   string
	key       string
	o         lockrt.Options
	kind      string
	epochs    []uint64
	since     time.Time
	released  bool // Release has returned nil or ErrLost, and the caller has no more to do with it
	told      bool // Release has returned another error
	abandoned bool // its caller leaves it to Close, or to its end
	broken    bool // Break of its key was called in its time
	early     bool // a loss is expected: MaxHold, NoRenew
	anchored  bool // it must not be passed on within its Locker
}

type oracle struct {
	t     *testing.T
	seed  uint64
	probe lockrt.Session

	mu       sync.Mutex
	sessions map[string]*chaosSession
	grants   map[string]*granting // by id
	inside   map[*lockrt.Lease]*holding
	highest  map[string]lockrt.Fence         // of each key, of those who have written or read
	reads    map[string]bool                 // the highest was that of readers
	slots    map[string]map[int]lockrt.Fence // of permits
	keep     map[string]time.Time            // until when MinHold keeps a key from others
	closing  map[string]time.Time
	logs     map[string][]string // what each Locker has logged
	breaks   map[string]int
	waits    map[string]int // for how long callers of a session wait for a key for which nobody asks
	bad      int
	trace    []string
	began    time.Time
	count    map[string]int
}

func newOracle(t *testing.T, seed uint64, store *memstore.Store) *oracle {
	probe, err := store.Open(lockrt.SessionConfig{Namespace: "lock", Node: "probe"})
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{t: t, seed: seed, probe: probe, sessions: map[string]*chaosSession{}, grants: map[string]*granting{},
		inside: map[*lockrt.Lease]*holding{}, highest: map[string]lockrt.Fence{}, reads: map[string]bool{},
		slots: map[string]map[int]lockrt.Fence{}, keep: map[string]time.Time{}, closing: map[string]time.Time{},
		logs: map[string][]string{}, breaks: map[string]int{}, waits: map[string]int{}, began: time.Now(), count: map[string]int{}}
}

// chaosLog is whether what happens is kept, to be shown.
var chaosLog = os.Getenv("LOCKGEN_SEED") != ""

func (o *oracle) logf(format string, args ...any) {
	if !chaosLog {
		return
	}
	line := fmt.Sprintf("%9s ", time.Since(o.began).Round(time.Microsecond)) + fmt.Sprintf(format, args...)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.trace = append(o.trace, line)
}

// wrong is a promise that was broken.
func (o *oracle) wrong(format string, args ...any) {
	o.t.Helper()
	text := fmt.Sprintf(format, args...)
	o.logf("WRONG: %s", text)
	o.mu.Lock()
	o.bad++
	o.mu.Unlock()
	o.t.Errorf("seed %d, at %s: %s", o.seed, time.Since(o.began).Round(time.Microsecond), text)
}

func (o *oracle) counts(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count[what]++
}

// holders are the ids that hold a key at the store.
func (o *oracle) holders(key string) []string {
	info, err := o.probe.(lockrt.Inspector).Inspect(context.Background(), key)
	if err != nil {
		return nil
	}
	var ids []string
	for _, h := range info.Holders {
		if h.ID != "" {
			ids = append(ids, h.ID)
		}
	}
	if len(info.Holders) == 0 && info.ID != "" {
		ids = append(ids, info.ID)
	}
	return ids
}

func (o *oracle) atStore(key, id string) bool { return slices.Contains(o.holders(key), id) }

// excludes reports whether two kinds exclude each other.
func excludes(a, b string) bool { return a != b || a == "writers" }

// granted is called at the moment of a grant at the store: nobody may be alive whom it excludes.
func (o *oracle) granted(s *chaosSession, req lockrt.Request, g lockrt.Grant) {
	kind := kindName(lockrt.Options{Mode: req.Mode, Permits: req.Permits})
	o.logf("%s grant at store %s %s epoch %d %s", s.name, req.Key, req.ID, g.Epoch, kind)
	o.counts("grants at the store")
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.grants[req.ID]; known != nil && known.epoch == g.Epoch {
		return // told again
	}
	o.grants[req.ID] = &granting{session: s, key: req.Key, id: req.ID, epoch: g.Epoch, at: time.Now(), kind: kind}
	for other, held := range o.inside {
		if held.key == req.Key && excludes(kind, held.kind) && other.Err() == nil && !slices.Contains(held.epochs, g.Epoch) &&
			o.atStore(req.Key, req.ID) {
			o.bad++
			o.t.Errorf("seed %d, at %s: the store has granted %s to %s of %s with epoch %d, and the lease of %s with fence %d (%s) lives",
				o.seed, time.Since(o.began), req.Key, kind, s.name, g.Epoch, held.session, other.Fence(), held.kind)
		}
	}
}

func (o *oracle) downgradedAtStore(id string, epoch uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if g := o.grants[id]; g != nil {
		was := g.epoch
		g.epoch, g.kind = epoch, "readers"
		for _, held := range o.inside {
			if held.key == g.key && held.session == g.session.name && held.lease.Fence().Epoch() == was {
				held.epochs = append(held.epochs, epoch)
			}
		}
	}
}

// enter is called when a caller was given a lease.
// It has it since then at the earliest.
func (o *oracle) enter(session string, lease *lockrt.Lease, opts lockrt.Options, since time.Time) *holding {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count["leases"]++
	key, fence := lease.Key(), lease.Fence()
	h := &holding{lease: lease, session: session, key: key, o: opts, kind: kindName(opts), since: since,
		epochs: []uint64{fence.Epoch()}, early: opts.MaxHold > 0 || opts.NoRenew}
	o.inside[lease] = h
	wrong := func(format string, args ...any) {
		o.bad++
		o.t.Errorf("seed %d, at %s: %s", o.seed, time.Since(o.began), fmt.Sprintf(format, args...))
	}
	if lease.Err() != nil {
		return h // lost meanwhile: who has the lock now may have come first
	}
	beside, limit := 0, opts.Permits
	for _, held := range o.inside {
		if held.anchored && held.session == session && held.key == key && held.kind != "readers" && slices.Contains(held.epochs, fence.Epoch()) {
			wrong("%s: an anchored lease with fence %d is passed on as %d", key, held.lease.Fence(), fence)
		}
	}
	for other, held := range o.inside {
		if other == lease || held.key != key || other.Err() != nil {
			continue
		}
		beside++
		limit = max(limit, held.o.Permits)
		if excludes(h.kind, held.kind) {
			wrong("%s: a lease of %s of %s with fence %d beside one of %s of %s with fence %d", key, h.kind, session, fence, held.kind,
				held.session, other.Fence())
		}
		if h.kind == "permits" && other.Slot() == lease.Slot() {
			wrong("%s: slot %d is given twice", key, lease.Slot())
		}
		if h.kind == "readers" && held.kind == "readers" && other.Fence() != fence && !h.downgradedPair(held) {
			wrong("%s: readers with the fences %d and %d", key, fence, other.Fence())
		}
	}
	if h.kind == "permits" && beside >= limit {
		wrong("%s: one of %d permits beside %d", key, limit, beside)
	}
	if until := o.keep[key]; h.kind != "permits" && time.Now().Before(until) {
		wrong("%s: granted %s before the end of a MinHold whose release had returned nil", key, time.Until(until))
	}
	highest := o.highest[key]
	switch h.kind {
	case "permits":
		slots := o.slots[key]
		if slots == nil {
			slots = map[int]lockrt.Fence{}
			o.slots[key] = slots
		}
		if slot := lease.Slot(); slot < 0 || slot >= opts.Permits || fence <= slots[slot] || fence <= highest {
			wrong("%s: slot %d of %d has fence %d after %d, and %d of other kinds", key, slot, opts.Permits, fence, slots[slot], highest)
		}
		slots[lease.Slot()] = fence
		return h
	case "readers":
		if fence < highest || fence == highest && !o.reads[key] {
			wrong("%s: a reader has fence %d after %d", key, fence, highest)
		}
	default:
		if fence <= highest {
			wrong("%s: a writer has fence %d after %d", key, fence, highest)
		}
	}
	for _, before := range o.slots[key] {
		if fence <= before {
			wrong("%s: one of %s has fence %d after a permit's %d", key, h.kind, fence, before)
		}
	}
	o.highest[key], o.reads[key] = fence, h.kind == "readers"
	return h
}

func (o *oracle) anchor(h *holding, anchored bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h.anchored = anchored
}

// downgradedPair: while a Downgrade has no answer the fence of that lease may be about to grow.
func (h *holding) downgradedPair(other *holding) bool {
	return h.o.Mode != lockrt.Read || other.o.Mode != lockrt.Read
}

// downgrades is called before Lease.Downgrade.
func (o *oracle) downgrades(h *holding) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h.kind = "readers"
	if o.highest[h.key] == h.lease.Fence() {
		o.reads[h.key] = true
	}
}

func (o *oracle) downgradeEnded(h *holding) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fence := h.lease.Fence()
	h.epochs = append(h.epochs, fence.Epoch())
	if h.lease.Err() == nil && fence > o.highest[h.key] {
		o.highest[h.key], o.reads[h.key] = fence, true
	}
}

// released is called with the result of a Release.
func (o *oracle) released(h *holding, err error) {
	o.logf("%s release of %s fence %d: %v", h.session, h.key, h.lease.Fence(), err)
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		h.released = true
		o.count["releases that returned nil"]++
		o.keepsLocked(h, "a release")
	case errors.Is(err, lockrt.ErrLost):
		o.count["releases of lost leases"]++
		h.released = true
		if strings.Contains(err.Error(), "release lock") {
			h.told = true
		}
	default:
		o.count["releases that failed"]++
		h.told = true
	}
}

// keepsLocked checks, and lets be checked, that nobody has the lock of a writer before the end of its MinHold.
func (o *oracle) keepsLocked(h *holding, whose string) {
	until := h.since.Add(h.o.MinHold - time.Millisecond)
	if h.o.MinHold == 0 || h.kind != "writers" || o.breaks[h.key] > 0 || h.told {
		return
	}
	for _, g := range o.grants {
		if g.key == h.key && g.epoch > slices.Max(h.epochs) && g.at.Before(until) {
			o.bad++
			o.t.Errorf("seed %d, at %s: %s was granted to %s with epoch %d, %s before the end of the MinHold "+
				"of fence %d, of which %s returned nil", o.seed,
				time.Since(o.began), h.key, g.session.name, g.epoch, until.Sub(g.at), h.lease.Fence(), whose)
		}
	}
	if until.After(o.keep[h.key]) {
		o.keep[h.key] = until
	}
	o.count["leases with a MinHold"]++
}

// lossIsTrue looks into the loss of a lease.
func (o *oracle) lossIsTrue(h *holding) {
	err := h.lease.Err()
	if !errors.Is(err, lockrt.ErrLost) {
		return
	}
	o.counts("losses")
	o.mu.Lock()
	s := o.sessions[h.session]
	_, closing := o.closing[h.session]
	broken := h.broken
	o.mu.Unlock()
	s.mu.Lock()
	trouble := s.trouble
	s.mu.Unlock()
	if closing || broken || h.early {
		return
	}
	if strings.Contains(err.Error(), "deadline passed") && trouble.Before(h.since.Add(-h.o.TTL)) {
		o.wrong("%s of %s (fence %d) is lost, though all its renewals were fine: %v", h.key, h.session, h.lease.Fence(), err)
	}
	if strings.Contains(err.Error(), "no longer knows") && h.kind == "writers" {
		o.mu.Lock()
		var id string
		for _, g := range o.grants {
			if g.session == s && g.key == h.key && slices.Contains(h.epochs, g.epoch) {
				id = g.id
			}
		}
		o.mu.Unlock()
		if id != "" && o.atStore(h.key, id) && !s.underWay(id) {
			s.mu.Lock()
			said := s.notMine[id]
			s.mu.Unlock()
			if !said {
				o.wrong("%s of %s (fence %d, id %s) is lost: %v; the store has it and has not said so", h.key, h.session, h.lease.Fence(), id, err)
			}
		}
	}
}

// notOurs checks that an error does not look like the end of a context that lives.
func (o *oracle) notOurs(what string, ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		o.wrong("%s: the caller's context lives, and the error is %v", what, err)
	}
}

// within checks how long a call took. end is that of its context, until that of its wait or its own limit; zero: none. more
// is what it may take beyond the latter.
func (o *oracle) within(what string, end, until time.Time, more time.Duration) {
	if late := time.Since(end); !end.IsZero() && late > 100*time.Millisecond {
		o.wrong("%s returned %s after the end of its context", what, late)
	}
	if late := time.Since(until); !until.IsZero() && late > 100*time.Millisecond+more {
		o.wrong("%s returned %s after the end of its wait or limit", what, late)
	}
}

// unfounded looks for leases that live although the store has nothing of them.
func (o *oracle) unfounded() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for lease, h := range o.inside {
		if lease.Err() != nil {
			continue
		}
		ids := o.holders(h.key)
		if lease.Err() != nil {
			continue
		}
		if !slices.ContainsFunc(ids, func(id string) bool {
			g := o.grants[id]
			return g == nil || g.session.name == h.session && (slices.Contains(h.epochs, g.epoch) || lease.Fence().Epoch() == g.epoch)
		}) {
			o.bad++
			o.t.Errorf("seed %d, at %s: a lease on %s of %s with fence %d (%s) lives, and the store has only %v", o.seed, time.Since(o.began), h.key,
				h.session, lease.Fence(), h.kind, ids)
		}
	}
}

// idle looks for callers who wait for a lock that nobody has and for which nobody asks.
func (o *oracle) idle(keys []string) {
	for _, key := range keys {
		if info, err := o.probe.(lockrt.Inspector).Inspect(context.Background(), key); err == nil || info.Key != "" {
			continue
		}
		o.mu.Lock()
		sessions := o.sessions
		o.mu.Unlock()
		for name, s := range sessions {
			waits := s.underWay("one "+key) && !s.underWay("key "+key) && !s.underWay("renew") && !s.underWay("inspect") && !s.isAsked(key)
			o.mu.Lock()
			o.waits[name+key]++
			if !waits {
				o.waits[name+key] = 0
			}
			long := o.waits[name+key]
			o.mu.Unlock()
			if long == 6 {
				o.wrong("%s is free, callers of %s wait for it, and nobody asks", key, name)
			}
		}
	}
}

// loses notes that leases of a session on a key are about to be lost.
func (o *oracle) loses(session, key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range o.inside {
		if h.session == session && h.key == key {
			h.broken = true
		}
	}
}

// orphans looks for locks at the store for which nobody answers.
func (o *oracle) orphans(keys []string) {
	for _, key := range keys {
		for _, id := range o.holders(key) {
			o.mu.Lock()
			g := o.grants[id]
			if g == nil {
				o.mu.Unlock()
				continue
			}
			answers := false
			for _, h := range o.inside {
				if h.session == g.session.name && h.key == key && slices.Contains(h.epochs, g.epoch) && (!h.released || h.told) {
					answers = true
				}
			}
			for _, line := range o.logs[g.session.name] {
				answers = answers || strings.Contains(line, "not released yet") && strings.Contains(line, key)
			}
			_, closing := o.closing[g.session.name]
			o.mu.Unlock()
			g.session.mu.Lock()
			_, left := g.session.leftover[id]
			g.session.mu.Unlock()
			answers = answers || closing || left || g.session.underWay(id) || g.session.underWay("key "+key) || g.session.underWay("call "+key)
			o.mu.Lock()
			if answers {
				g.flagged = 0
			} else {
				g.flagged++
			}
			flagged := g.flagged
			o.mu.Unlock()
			if flagged == 3 {
				o.wrong("%s: %s is at the store with epoch %d (%s), and nobody of %s answers for it", key, id, g.epoch, g.kind, g.session.name)
			}
		}
	}
}

// closed is called with the result of a Close that was waited for.
func (o *oracle) closed(session string, keys []string, err error) {
	o.logf("%s closed: %v", session, err)
	if err != nil {
		o.counts("Closes with an error")
		return
	}
	o.counts("Closes that returned nil")
	o.mu.Lock()
	for _, h := range o.inside {
		over := h.lease.Err()
		if h.session == session && errors.Is(over, lockrt.ErrClosed) {
			o.keepsLocked(h, "Close")
		}
	}
	o.mu.Unlock()
	for _, key := range keys {
		for _, id := range o.holders(key) {
			o.mu.Lock()
			g := o.grants[id]
			o.mu.Unlock()
			if g != nil && g.session.name == session {
				o.wrong("%s: Close of %s has returned nil, and the store has %s with epoch %d (%s), granted at %s", key, session, id, g.epoch,
					g.kind, g.at.Sub(o.began))
			}
		}
	}
}

func (o *oracle) closingSince(session string) (at time.Time, closing bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, closing = o.closing[session]
	return at, closing
}

// lossesTold checks that each lost lease was told by the time Close has returned.
func (o *oracle) lossesTold(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for lease, h := range o.inside {
		if h.session != session || !errors.Is(lease.Err(), lockrt.ErrLost) {
			continue
		}
		told := slices.ContainsFunc(o.logs[session], func(line string) bool {
			return strings.HasPrefix(line, "lock lease lost") && strings.Contains(line, "key="+h.key+" ") &&
				slices.ContainsFunc(h.epochs, func(e uint64) bool { return strings.Contains(line, fmt.Sprintf("fence=%d ", lockrt.FenceOf(e))) })
		})
		if !told {
			o.bad++
			o.t.Errorf("seed %d: Close of %s has returned, and the loss of %s, fence %d, is not told: %v", o.seed, session, h.key,
				lease.Fence(), lease.Err())
		}
	}
}

// chaosHandler keeps what a Locker logs, and may be slow.
type chaosHandler struct {
	o       *oracle
	session string
	slow    time.Duration
}

func (h chaosHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h chaosHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h chaosHandler) WithGroup(string) slog.Handler            { return h }
func (h chaosHandler) Handle(_ context.Context, r slog.Record) error {
	time.Sleep(h.slow)
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.Key + "=" + a.Value.String()
		return true
	})
	line += " "
	h.o.logf("%s log: %s", h.session, line)
	h.o.mu.Lock()
	defer h.o.mu.Unlock()
	h.o.logs[h.session] = append(h.o.logs[h.session], line)
	return nil
}
