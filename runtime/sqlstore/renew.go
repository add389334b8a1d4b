package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// renewChunk is how many leases one statement renews or reads at the most.
const renewChunk = 1000

// lease is one of those that a call is about.
type lease struct {
	key, id string
	name    []byte
	ttl     int64
	kind    kind // as its Locker knows it, for whom it may have become a reader's
}

// named tells the lease from all others.
func (l lease) named() string { return string(l.name) + "\x00" + l.id }

// Renew implements lockrt.Session. The statements use the connection that the session keeps.
func (s *session) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	leases := make([]lease, len(renewals))
	for i, r := range renewals {
		leases[i] = lease{r.Key, escaped(r.ID), rowName(s.Namespace, r.Key), micros(r.TTL), kindOf(r.Mode, r.Permits)}
	}
	sent := time.Now()
	errs := s.renewTogether(ctx, leases)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, err := range errs {
		if h := s.leases[leases[i].id]; h != nil && err == nil {
			h.until = sent.Add(renewals[i].TTL)
		}
	}
	return errs
}

// Check implements lockrt.Checker.
func (s *session) Check(ctx context.Context, leases []lockrt.HeldLease) []error {
	asked := make([]lease, len(leases))
	for i, l := range leases {
		asked[i] = lease{key: l.Key, id: escaped(l.ID), name: rowName(s.Namespace, l.Key)}
	}
	return s.perLease(ctx, asked, looks)
}

// renewing is what is done with leases.
type renewing int

const (
	looks           renewing = iota // nothing
	renewsSoon                      // they are renewed, except for those whose rows somebody has locked
	renewsPatiently                 // they are renewed, and locked rows are waited for
)

// perLease says which leases hold their locks, and may renew them.
func (s *session) perLease(ctx context.Context, leases []lease, how renewing) []error {
	errs := make([]error, len(leases))
	for from := 0; from < len(leases); from += renewChunk {
		chunk := leases[from:min(from+renewChunk, len(leases))]
		got := make(chan []error, 1)
		_, err := s.calls.do(ctx, callTime, func(limit context.Context) error {
			some, err := s.renewChunk(limit, chunk, how)
			got <- some
			return err
		})
		if err != nil { // that the server is silent is not found out for each part anew
			err = s.explain(ctx, err)
			for i := from; i < len(errs); i++ {
				errs[i] = err
			}
			return errs
		}
		copy(errs[from:], <-got)
	}
	return errs
}

func (s *session) renewChunk(ctx context.Context, leases []lease, how renewing) (errs []error, err error) {
	t, err := s.store.ready(ctx)
	if errors.Is(err, sqldialect.ErrReplaced) { // whatever the old file says
		s.Logger.Error("locks are lost", slog.Int("leases", len(leases)), slog.Any("error", err))
		return slices.Repeat([]error{fmt.Errorf("%w: %w", lockrt.ErrLost, err)}, len(leases)), nil
	}
	if err != nil {
		return nil, err
	}
	on := s.keeping
	if how == renewsPatiently { // others need that connection
		on = func(_ context.Context, f func(querier) error) error { return f(s.store.pool) }
	}
	err = on(ctx, func(q querier) error {
		for tries := 1; ; tries++ {
			errs, err = s.renewOn(ctx, t, q, leases, how)
			changed := err == nil && tries < 5 && slices.Contains(errs, errRowChanged)
			if !changed && (err == nil || !t.Again(err)) {
				return err
			}
			if !pace.Sleep(ctx, pace.Jitter(10*time.Millisecond)) {
				return err
			}
		}
	})
	return errs, err
}

func (s *session) renewOn(ctx context.Context, t *tables, q querier, leases []lease, how renewing) ([]error, error) {
	errs := make([]error, len(leases))
	done := renewed{}
	if how != looks {
		alone, shares := byKind(leases)
		if err := t.renewAlone(ctx, q, alone, done); err != nil {
			return nil, err
		}
		if err := t.renewShares(ctx, q, t.renewShare, shares, done); err != nil {
			return nil, err
		}
	}
	open := make([]int, 0, len(leases))
	var names [][]byte
	for i, l := range leases {
		if done[l.named()] != certainly {
			open, names = append(open, i), append(names, l.name)
		}
	}
	if len(open) == 0 {
		return errs, nil
	}
	states, _, now, err := t.poll(ctx, q, pollSQL, args{"session": s.id}, names)
	if err != nil {
		return nil, err
	}
	for _, i := range open {
		l := leases[i]
		r, err := states[string(l.name)].row()
		if err != nil {
			return nil, err
		}
		least, known := done[l.named()]
		switch out, has := r.stateOf(l.id, now.Micros); {
		case !has:
			s.unwanted(l.id)
			errs[i] = lockrt.ErrLost
		case out == broken:
			s.lose(l.id, l.key, errors.New(r.brokenWhy(l.id, now.Micros)), "")
			errs[i] = lockrt.ErrLost
		case how == looks || known && !r.shared() && r.until >= least:
		case how == renewsSoon && t.Dialect != sqldialect.SQLite:
			errs[i] = errRowLocked // or it is downgraded, or is to be
		default:
			errs[i] = t.renewFound(ctx, q, l, r.shared())
			if err := errs[i]; err != nil && err != errRowChanged {
				return nil, err
			}
		}
	}
	return errs, nil
}

// byKind parts leases that hold their locks alone from those that share them.
func byKind(leases []lease) (alone, shares []lease) {
	for _, l := range leases {
		if l.kind.exclusive() {
			alone = append(alone, l)
		} else {
			shares = append(shares, l)
		}
	}
	return alone, shares
}

// errRowChanged is for a lease that was found to hold its lock, and did not a moment later: it was broken, or is over.
var errRowChanged = errors.New("its row changed again and again")

// renewFound renews a lease that was found to hold its lock, together with others or alone.
func (t *tables) renewFound(ctx context.Context, q querier, l lease, shared bool) (err error) {
	done := renewed{}
	if shared {
		err = t.renewShares(ctx, q, t.renewShareLate, []lease{l}, done)
	} else {
		var n int64
		if n, err = t.renewOne(ctx, q, l); n > 0 {
			done[l.named()] = certainly
		}
	}
	if err == nil && done[l.named()] != certainly {
		err = errRowChanged
	}
	return err
}
