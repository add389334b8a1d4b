package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// This file is the network between callers and the store of the random test, see chaos_test.go.

// weather is how bad the network is: out of 1000 calls so many have a fault.
type weather struct {
	refused    int  // the store says no and does nothing
	lost       int  // the request never arrives, and nobody says so
	unanswered int  // the store does it, and the answer never arrives
	failed     int  // the store does it, and answers with an error
	late       int  // the request or the answer takes its time
	panics     int  // the driver panics or exits, before or after the store has done it
	exits      bool // it only exits
	latest     time.Duration
	endsLocks  bool // the locks of a session end when it is closed
	silences   bool // from time to time the store does not answer at all
	noRecall   bool
	most       time.Duration // what the store gives at a time; 0: any
	forgets    bool          // now and then a session loses all that it has, and says so
}

func someWeather(rnd *rand.Rand) weather {
	some := func(most int) int {
		if rnd.IntN(2) == 0 {
			return 0
		}
		return rnd.IntN(most)
	}
	w := weather{latest: []time.Duration{20 * time.Millisecond, 300 * time.Millisecond, 4 * time.Second}[rnd.IntN(3)]}
	if rnd.IntN(8) == 0 { // a fine day
		return w
	}
	w.refused, w.lost, w.unanswered, w.failed, w.late = some(150), some(60), some(60), some(150), some(300)
	if rnd.IntN(4) == 0 {
		w.panics, w.exits = some(30), rnd.IntN(2) == 0
	}
	if rnd.IntN(6) == 0 {
		w.most = time.Second
	}
	w.forgets = rnd.IntN(6) == 0
	w.endsLocks, w.silences, w.noRecall = rnd.IntN(3) == 0, rnd.IntN(3) == 0, rnd.IntN(3) == 0
	return w
}

// fate is what befalls one call.
type fate struct {
	refused, lost, unanswered, failed bool
	panics                            int // 1: before the store has done it, 2: after
	exits                             bool
	before, after                     time.Duration
}

func (f fate) fine() bool { return f == fate{} }

var (
	errChaosRefused = errors.New("chaos: refused")
	errChaosSilent  = errors.New("chaos: no answer")
)

// chaosStore is a memory store behind a network.
type chaosStore struct {
	*memstore.Store
	o       *oracle
	weather weather

	mu     sync.Mutex
	rnd    *rand.Rand
	silent bool // nothing is answered, nor done
	calm   bool // no more faults
}

func (s *chaosStore) fate() (f fate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm {
		return f
	}
	w := s.weather
	if s.silent {
		f.lost = true
		return f
	}
	in := func(n int) bool { return s.rnd.IntN(1000) < n }
	delay := func() time.Duration { return time.Duration(s.rnd.Int64N(int64(w.latest)) + 1) }
	if in(w.late) {
		f.before = delay()
	}
	if in(w.late) {
		f.after = delay()
	}
	switch {
	case in(w.refused):
		f.refused = true
	case in(w.lost):
		f.lost = true
	case in(w.unanswered):
		f.unanswered = true
	case in(w.failed):
		f.failed = true
	case in(w.panics):
		f.panics, f.exits = 1+s.rnd.IntN(2), w.exits || s.rnd.IntN(2) == 0
	}
	return f
}

func (s *chaosStore) chance(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n) == 0
}

func (s *chaosStore) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// chaosSession keeps the contract of lockrt.Session at that store.
type chaosSession struct {
	store   *chaosStore
	o       *oracle
	name    string
	real    lockrt.Session
	ability ability
	closed  chan struct{}
	once    sync.Once
	drop    sync.Once
	lost    func(id string, reason error)

	back sync.WaitGroup // what goes on in the background

	mu       sync.Mutex
	leftover map[string]error  // what could not be given back in the background
	ids      map[string]string // keys of all that was asked for
	flight   map[string]int    // calls under way, by id; "key "+key for acquires
	answered time.Time
	trouble  time.Time // when a renewal was last not fine
	notMine  map[string]bool
}

func (s *chaosStore) Open(cfg lockrt.SessionConfig) (lockrt.Session, error) {
	if s.weather.noRecall {
		cfg.Recall = nil
	}
	c := &chaosSession{store: s, o: s.o, name: cfg.Node, closed: make(chan struct{}), leftover: map[string]error{}, ids: map[string]string{},
		flight: map[string]int{}, notMine: map[string]bool{}}
	tell := cfg.Lost
	cfg.Lost = func(id string, reason error) {
		c.mu.Lock()
		c.notMine[id] = true
		c.mu.Unlock()
		tell(id, reason)
	}
	c.lost = cfg.Lost
	real, err := s.Store.Open(cfg)
	if err != nil {
		return nil, err
	}
	c.real, c.ability = real, real.(ability)
	s.o.mu.Lock()
	s.o.sessions[cfg.Node] = c
	s.o.mu.Unlock()
	return c, nil
}

func (s *chaosSession) begin(id string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flight[id]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.flight[id]--; s.flight[id] == 0 {
			delete(s.flight, id)
		}
	}
}

func (s *chaosSession) underWay(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flight[id] > 0
}

// isAsked reports whether a call for a lease on a key is under way.
func (s *chaosSession) isAsked(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.flight {
		if s.ids[id] == key {
			return true
		}
	}
	return false
}

func (s *chaosSession) answers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = time.Now()
}

// bounded is ctx for no longer than a call may take.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 5*time.Second)
}

// pause reports whether d has passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true // also with an ended context
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// silence is the error of a call whose bounded context has ended.
func silence(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("chaos: %w", err)
	}
	return errChaosSilent
}

func (f fate) die() {
	if f.exits {
		runtime.Goexit()
	}
	panic("chaos: driver")
}

// call makes one call with a fate. do is done at the store once at the most. If the call ends first and goesOn is set, that
// may be afterwards.
func (s *chaosSession) call(ctx context.Context, id string, f fate, goesOn bool, do func() error) error {
	defer s.begin(id)()
	limit, cancel := bounded(ctx)
	defer cancel()
	behind := func() {
		if goesOn {
			s.inBackground(id, do)
		}
	}
	if f.panics == 1 {
		f.die()
	}
	if !pause(limit, f.before) {
		behind()
		return silence(ctx)
	}
	switch {
	case f.refused:
		s.answers()
		return errChaosRefused
	case f.lost:
		<-limit.Done()
		behind()
		return silence(ctx)
	}
	err := do()
	if f.panics == 2 {
		f.die()
	}
	if f.unanswered {
		<-limit.Done()
		return silence(ctx)
	}
	if !pause(limit, f.after) {
		return silence(ctx)
	}
	s.answers()
	if f.failed && err == nil {
		err = errors.New("chaos: failed, and done")
	}
	return err
}

// inBackground does what a call has begun, until the store has answered.
func (s *chaosSession) inBackground(id string, do func() error) {
	end := s.begin(id)
	s.back.Go(func() {
		defer end()
		for try := range 4 {
			f := s.store.fate()
			time.Sleep(f.before + f.after + time.Duration(try)*200*time.Millisecond)
			if f.lost || f.refused {
				time.Sleep(time.Second)
				continue
			}
			if err := do(); err == nil || errors.Is(err, lockrt.ErrLost) {
				return
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leftover[id] = errors.New("chaos: not given back in the background")
	})
}

func (s *chaosSession) realRelease(rel lockrt.Release) func() error {
	return func() error {
		err := s.real.Release(context.Background(), rel)
		s.o.logf("%s release at store %s %s keep=%s: %v", s.name, rel.Key, rel.ID, rel.Keep, err)
		return err
	}
}

func (s *chaosSession) Acquire(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	defer s.begin("key " + req.Key)()
	defer s.begin(req.ID)()
	s.mu.Lock()
	s.ids[req.ID] = req.Key
	s.mu.Unlock()
	if ctx.Err() != nil {
		return s.real.Acquire(ctx, req) // which gives up a place
	}
	f := s.store.fate()
	if f.panics == 1 {
		f.die()
	}
	leave := func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_, _ = s.real.Acquire(ended, req)
	}
	limit, cancel := bounded(ctx)
	defer cancel()
	if req.Wait > 0 && req.Wait < 5*time.Second {
		limit, cancel = context.WithTimeout(limit, req.Wait)
		defer cancel()
	}
	over := func() error {
		select {
		case <-s.closed:
			return lockrt.ErrClosed
		default:
			return silence(ctx)
		}
	}
	wait := func(d time.Duration) bool { // false: it is over
		if d == 0 {
			return true
		}
		var after <-chan time.Time
		if d > 0 {
			after = time.After(d)
		}
		select {
		case <-after:
			return true
		case <-limit.Done():
		case <-s.closed:
		}
		return false
	}
	switch {
	case f.refused:
		wait(f.before)
		leave()
		s.answers()
		return lockrt.Grant{}, errChaosRefused
	case f.lost:
		wait(-1)
		leave()
		return lockrt.Grant{}, over()
	}
	if req.Wait >= 5*time.Second && req.Wait != lockrt.Forever {
		req.Wait -= min(f.before, 4*time.Second)
	}
	if !wait(f.before) {
		leave()
		if req.Wait == 0 && s.store.chance(2) { // it arrives late, and is taken back
			s.inBackground(req.ID, func() error {
				select {
				case <-s.closed:
					return nil
				default:
				}
				if _, err := s.acquireNow(context.Background(), req); err != nil {
					return nil
				}
				time.Sleep(f.after)
				return s.realRelease(lockrt.Release{Key: req.Key, ID: req.ID, Mode: req.Mode, Permits: req.Permits})()
			})
		}
		return lockrt.Grant{}, over()
	}
	sent := time.Now()
	if deadline, _ := limit.Deadline(); req.Wait > 0 && req.Wait < 5*time.Second {
		req.Wait = max(time.Until(deadline), time.Nanosecond)
	}
	g, err := s.acquireNow(ctx, req)
	if err != nil {
		s.answers()
		return g, err
	}
	if req.Wait == 0 {
		g.Start = sent
	}
	takeBack := func() {
		s.inBackground(req.ID, s.realRelease(lockrt.Release{Key: req.Key, ID: req.ID, Mode: req.Mode, Permits: req.Permits}))
	}
	if f.panics == 2 {
		takeBack()
		f.die()
	}
	switch {
	case f.failed:
		takeBack()
		s.answers()
		return lockrt.Grant{}, errors.New("chaos: granted, and failed")
	case f.unanswered && !wait(-1), !wait(f.after) && s.store.chance(2):
		takeBack()
		return lockrt.Grant{}, over()
	}
	s.answers()
	return g, nil
}

func (s *chaosSession) acquireNow(ctx context.Context, req lockrt.Request) (lockrt.Grant, error) {
	most := s.store.weather.most
	if most > 0 {
		req.TTL = min(req.TTL, most)
	}
	g, err := s.real.Acquire(ctx, req)
	g.MaxTTL = most
	if err == nil {
		s.o.granted(s, req, g)
	}
	return g, err
}

func (s *chaosSession) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	f := s.store.fate()
	if f.panics > 0 && !f.exits {
		f.exits = true // a panic on the renewer's goroutine ends the process, as any
	}
	if !f.fine() {
		s.mu.Lock()
		s.trouble = time.Now().Add(f.before + f.after)
		s.mu.Unlock()
	}
	var errs []error
	err := s.call(ctx, "renew", f, false, func() error {
		errs = s.real.Renew(ctx, renewals)
		for i, renewal := range renewals {
			if most := s.store.weather.most; most > 0 && renewal.TTL > most {
				errs[i] = errors.New("chaos: it gives no more at a time")
			}
		}
		return nil
	})
	for _, renewal := range renewals {
		if most := s.store.weather.most; most > 0 && renewal.TTL > most && len(renewals) > 1 {
			s.o.wrong("a renewal of %s for %s, of %s at the most", renewal.Key, renewal.TTL, most)
		}
	}
	if err != nil {
		s.mu.Lock()
		s.trouble = time.Now()
		s.mu.Unlock()
		return failAll(renewals, err)
	}
	for i, r := range renewals {
		if errors.Is(errs[i], lockrt.ErrLost) {
			s.mu.Lock()
			s.notMine[r.ID] = true
			s.mu.Unlock()
			s.o.logf("%s renewal: %s %s is lost", s.name, r.Key, r.ID)
		}
	}
	if s.store.chance(50) && s.store.weather.late > 0 && len(errs) > 1 {
		s.mu.Lock()
		s.trouble = time.Now()
		s.mu.Unlock()
		errs = errs[:len(errs)-1] // a driver that forgets one
	}
	return errs
}

func (s *chaosSession) Release(ctx context.Context, rel lockrt.Release) error {
	return s.call(ctx, rel.ID, s.store.fate(), true, s.realRelease(rel))
}

func (s *chaosSession) Downgrade(ctx context.Context, d lockrt.Downgrading) (epoch uint64, err error) {
	err = s.call(ctx, d.ID, s.store.fate(), false, func() (err error) {
		if epoch, err = s.ability.Downgrade(ctx, d); err == nil {
			s.o.downgradedAtStore(d.ID, epoch)
		}
		return err
	})
	return epoch, err
}

func (s *chaosSession) Check(ctx context.Context, leases []lockrt.HeldLease) []error {
	f := s.store.fate()
	f.panics = 0
	var errs []error
	if err := s.call(ctx, "check", f, false, func() error { errs = s.ability.Check(ctx, leases); return nil }); err != nil {
		return slices.Repeat([]error{err}, len(leases))
	}
	return errs
}

func (s *chaosSession) Break(ctx context.Context, b lockrt.Breaking) error {
	return s.ability.Break(ctx, b)
}

func (s *chaosSession) Inspect(ctx context.Context, key string) (info lockrt.LockInfo, err error) {
	f := s.store.fate()
	f.panics = 0
	err = s.call(ctx, "inspect", f, false, func() (err error) { info, err = s.ability.Inspect(ctx, key); return err })
	return info, err
}

func (s *chaosSession) List(ctx context.Context, prefix string) (infos []lockrt.LockInfo, err error) {
	f := s.store.fate()
	f.panics = 0
	err = s.call(ctx, "list", f, false, func() (err error) { infos, err = s.real.List(ctx, prefix); return err })
	return infos, err
}

func (s *chaosSession) Shares() {}

func (s *chaosSession) Close(ctx context.Context) error {
	first := false
	s.once.Do(func() {
		first = true
		close(s.closed)
	})
	_ = s.real.Close(ctx)
	f := s.store.fate()
	if f.panics > 0 {
		f.die()
	}
	limit, cancel := bounded(ctx)
	defer cancel()
	if f.lost || f.unanswered {
		<-limit.Done()
		return silence(ctx)
	}
	if !pause(limit, f.before) {
		return silence(ctx)
	}
	s.answers()
	if f.refused {
		return errChaosRefused
	}
	if s.store.weather.endsLocks {
		s.drop.Do(s.endLocks)
	}
	if !pause(limit, f.after) {
		return silence(ctx)
	}
	s.answers()
	if first {
		return nil
	}
	done := make(chan struct{})
	go func() { s.back.Wait(); close(done) }()
	select {
	case <-done:
	case <-limit.Done():
		return silence(ctx)
	}
	s.answers()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for id, err := range s.leftover {
		if s.o.atStore(s.ids[id], id) {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// endLocks ends what the session has, as an engine does that ties locks to sessions.
func (s *chaosSession) endLocks() {
	s.mu.Lock()
	ids := make(map[string]string)
	for id, key := range s.ids {
		ids[id] = key
	}
	s.mu.Unlock()
	for id, key := range ids {
		_ = s.real.Release(context.Background(), lockrt.Release{Key: key, ID: id})
	}
	s.o.logf("%s: its session ends its locks", s.name)
}

// forgets ends what the session has, as an engine does whose session has ended by itself: it says so first.
func (s *chaosSession) forgets() {
	s.mu.Lock()
	ids := make(map[string]string)
	for id, key := range s.ids {
		ids[id] = key
	}
	s.trouble = time.Now()
	s.mu.Unlock()
	for id, key := range ids {
		if s.o.atStore(key, id) {
			s.o.loses(s.name, key)
			s.lost(id, errors.New("chaos: its session has ended"))
			_ = s.real.Release(context.Background(), lockrt.Release{Key: key, ID: id})
		}
	}
	s.o.logf("%s: its session has lost its locks", s.name)
}
