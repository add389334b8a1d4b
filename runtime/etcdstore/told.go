package etcdstore

import (
	"context"
	"errors"
	"strings"
	"time"

	etcd "go.etcd.io/etcd/client/v3"

	"github.com/lockgen/lockgen/internal/pace"
	"github.com/lockgen/lockgen/internal/percent"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// recallMark ends the name of a told key that recalls a reader's lease.
const recallMark = "/recall"

// hear learns of leases that were broken, from the session's first use on.
func (s *session) hear() {
	select {
	case <-s.used:
	case <-s.ctx.Done():
		return
	}
	var pause time.Duration
	for first := true; s.ctx.Err() == nil; first = false {
		rev, err := s.readTold()
		if err == nil {
			pause = 0
			if !first {
				s.recheck()
			}
			s.watchTold(rev)
		}
		pause = pace.Backoff(pause, 100*time.Millisecond, 2*time.Second)
		pace.Sleep(s.ctx, pace.Jitter(pause))
	}
}

// readTold heeds what was told before the watch, and returns as of which revision that is.
func (s *session) readTold() (rev int64, err error) {
	ctx, cancel := bounded(s.ctx)
	defer cancel()
	r, _, err := repeat(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.tolds(s.id), etcd.WithPrefix())
	})
	if err != nil {
		return 0, err
	}
	for _, kv := range r.Kvs {
		s.heed(string(kv.Key), string(kv.Value))
	}
	return r.Header.Revision, nil
}

// watchTold heeds what is told, until the watch ends.
func (s *session) watchTold(rev int64) {
	ctx, cancel := context.WithCancel(etcd.WithRequireLeader(s.ctx))
	defer cancel()
	watch := s.client.Watch(ctx, s.space.tolds(s.id), etcd.WithPrefix(), etcd.WithRev(rev+1), etcd.WithFilterDelete())
	for r := range watch {
		for _, event := range r.Events {
			s.heed(string(event.Kv.Key), string(event.Kv.Value))
		}
		if r.Err() != nil {
			return
		}
	}
}

// heed ends a lease that was broken, or recalls one of a reader behind whom somebody waits. The value has the key of
// the lock and the reason.
func (s *session) heed(told, value string) {
	escaped, recall := strings.CutSuffix(told[len(s.space.tolds(s.id)):], recallMark)
	id, err := percent.Unescape(escaped)
	if err != nil {
		return
	}
	if recall {
		s.forget(told)
		if s.Recall != nil {
			s.Recall(id)
		}
		return
	}
	key, reason := toldOf(value)
	s.loseBroken(id, key, errors.New(reason), told)
}

// forget deletes what was told, in the background.
func (s *session) forget(told string) {
	s.later(time.Now(), func(ctx context.Context) error {
		_, err := write(ctx, s, ending, func(ctx context.Context) (*etcd.DeleteResponse, error) {
			return s.client.Delete(ctx, told)
		})
		return err
	})
}

// callReaders tells the sessions of those who hold a lock for reading that somebody waits, once and in the background. What
// nobody hears ends with the leases of etcd that they have.
func (s *session) callReaders(key string) {
	s.calls.Start(func() {
		ctx, cancel := bounded(s.ctx)
		defer cancel()
		for range 3 { // it only delays those who wait if that fails
			if !isNoLease(s.callOnce(ctx, key)) {
				return // else one of them has moved, or has gone
			}
		}
	})
}

func (s *session) callOnce(ctx context.Context, key string) error {
	r, err := attempt(ctx, func(ctx context.Context) (*etcd.GetResponse, error) {
		return s.client.Get(ctx, s.space.lock(key), oldest(maxListed)...)
	})
	if err != nil {
		return err
	}
	var puts []etcd.Op
	for _, kv := range r.Kvs {
		e := entryOf(kv)
		if e.In && e.Read && e.Session != "" {
			told := s.space.told(e.Session, e.ID) + recallMark
			puts = append(puts, etcd.OpPut(told, "", etcd.WithLease(etcd.LeaseID(kv.Lease))))
		}
	}
	for len(puts) > 0 {
		n := s.fit(len(puts), func(i int) int { return len(puts[i].KeyBytes()) })
		_, err := write(ctx, s, continuing, func(ctx context.Context) (*etcd.TxnResponse, error) {
			return s.client.Txn(ctx).Then(puts[:n]...).Commit()
		})
		switch {
		case s.fewer(n, err):
		case err != nil:
			return err
		default:
			puts = puts[n:]
		}
	}
	return nil
}

// loseBroken ends a lease that was broken, and then lets the lock go on. told is the key that said so, "" if the
// session found out by itself.
func (s *session) loseBroken(id, key string, reason error, told string) {
	s.mu.Lock()
	_, known := s.losing[id]
	s.losing[id] = time.Now()
	h := s.takeLocked(id)
	if h == nil {
		if r := s.returning[id]; r != nil && r.me != "" { // its name may have been given up before
			h = &held{key: key, id: id, me: r.me, rev: r.rev, asked: true}
		} else {
			h = &held{key: key, id: id, me: s.contenderLocked(key, id)}
		}
		if place := s.places[id]; place != nil {
			h.doubt = place.doubt
		}
		s.unsureLocked(key, id) // at once: its release may be under way, and would give the name back
	}
	w := s.waiters[id]
	s.mu.Unlock()
	if w != nil && !known {
		w.end(reason)
	}
	s.telling.Start(func() {
		if !known {
			s.Lost(id, reason)
			s.abandon(h)
		}
		if told != "" {
			s.forget(told)
		}
	})
}

// recheck asks about all leases that the Locker believes in, after a gap in what the session was told.
func (s *session) recheck() {
	if s.Held == nil {
		return
	}
	leases := s.Held()
	s.tellGone(leases, s.Check(s.ctx, leases))
}

// tellGone tells which leases are lost, by what became of each of them.
func (s *session) tellGone(leases []lockrt.HeldLease, errs []error) {
	gone := make(map[string]bool)
	for i, err := range errs {
		if errors.Is(err, lockrt.ErrLost) {
			gone[leases[i].ID] = true
		}
	}
	if len(gone) == 0 || s.Held == nil {
		return
	}
	for _, still := range s.Held() { // one that was released meanwhile is not lost
		if gone[still.ID] {
			s.Lost(still.ID, errGone)
		}
	}
}
