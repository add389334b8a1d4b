package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/lockgen/lockgen/internal/pace"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// renewChunk is how many leases one statement renews or reads at the most.
const renewChunk = 1000

// lease is one of those that a call is about.
type lease struct {
	key, id string
	name    []byte
	ttl     int64
}

// Renew implements lockrt.Session. The statements use the connection that the session keeps.
func (s *session) Renew(ctx context.Context, renewals []lockrt.Renewal) []error {
	leases := make([]lease, len(renewals))
	for i, r := range renewals {
		leases[i] = lease{r.Key, escaped(r.ID), rowName(s.Namespace, r.Key), micros(r.TTL)}
	}
	sent := time.Now()
	errs := s.perLease(ctx, leases, true)
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
	return s.perLease(ctx, asked, false)
}

// perLease renews leases if renew is set, and says which of them hold their locks.
func (s *session) perLease(ctx context.Context, leases []lease, renew bool) []error {
	errs := make([]error, len(leases))
	for from := 0; from < len(leases); from += renewChunk {
		chunk := leases[from:min(from+renewChunk, len(leases))]
		got := make(chan []error, 1)
		_, err := s.calls.do(ctx, callTime, func(limit context.Context) error {
			some, err := s.renewChunk(limit, chunk, renew)
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

func (s *session) renewChunk(ctx context.Context, leases []lease, renew bool) (errs []error, err error) {
	t, err := s.store.ready(ctx)
	if err != nil {
		return nil, err
	}
	err = s.keeping(ctx, func(q querier) error {
		for {
			if errs, err = s.renewOn(ctx, t, q, leases, renew); err == nil || !t.again(err) {
				return err
			}
			if !pace.Sleep(ctx, pace.Jitter(10*time.Millisecond)) {
				return err
			}
		}
	})
	return errs, err
}

func (s *session) renewOn(ctx context.Context, t *tables, q querier, leases []lease, renew bool) ([]error, error) {
	errs := make([]error, len(leases))
	open := make([]int, 0, len(leases))
	var done map[string]bool
	var err error
	if renew {
		if done, err = t.renewAll(ctx, q, leases); err != nil {
			return nil, err
		}
	}
	for i, l := range leases {
		if !done[string(l.name)+"\x00"+l.id] {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return errs, nil
	}
	names := make([][]byte, len(open))
	for j, i := range open {
		names[j] = leases[i].name
	}
	states, _, now, err := t.poll(ctx, q, pollSQL, args{"session": s.id}, names)
	if err != nil {
		return nil, err
	}
	for _, i := range open {
		l := leases[i]
		state, there := states[string(l.name)]
		switch {
		case !there || state.owner != l.id || state.until <= now.Micros:
			s.unwanted(l.id)
			errs[i] = lockrt.ErrLost
		case state.broken != "":
			s.lose(l.id, l.key, errors.New(state.broken), "")
			errs[i] = lockrt.ErrLost
		case renew && t.name == Postgres: // its row was locked: with others it would have kept them waiting
			n, err := t.renewOne(ctx, q, l)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				errs[i] = lockrt.ErrLost
			}
		}
	}
	return errs, nil
}
