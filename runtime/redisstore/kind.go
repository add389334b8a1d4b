package redisstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// kindOf is what a request adds to its id in the queue: nothing if it is for the lock alone.
func kindOf(mode lockrt.Mode, permits int) string {
	switch {
	case permits > 0:
		return "~p" + strconv.Itoa(permits)
	case mode == lockrt.Read:
		return "~r"
	}
	return ""
}

var kindEnd = regexp.MustCompile(`~(?:(r)|p([0-9]+))$`)

// splitID is the inverse of kindOf: the lease's id, and what it asks for.
func splitID(queued string) (id string, mode lockrt.Mode, permits int) {
	at := kindEnd.FindStringSubmatchIndex(queued)
	switch {
	case at == nil:
		return queued, lockrt.Write, 0
	case at[2] >= 0:
		return queued[:at[0]], lockrt.Read, 0
	}
	permits, _ = strconv.Atoi(queued[at[4]:at[5]])
	return queued[:at[0]], lockrt.Write, permits
}

// mixedLocks remembers which locks had readers or permits recently. Their writers need the scripts for all kinds, and
// so go there at once. It is only a hint: the exclusive scripts say when they are not enough, and the others are for
// all.
type mixedLocks struct {
	seed  maphash.Seed
	locks [256]atomic.Pointer[mixedLock]
}

type mixedLock struct {
	key   string
	until time.Time
}

// mixedTime is for how long a lock counts as one that had readers or permits.
const mixedTime = 10 * time.Second

func (m *mixedLocks) place(key string) *atomic.Pointer[mixedLock] {
	return &m.locks[maphash.String(m.seed, key)%uint64(len(m.locks))]
}

func (m *mixedLocks) add(key string) {
	m.place(key).Store(&mixedLock{key, time.Now().Add(mixedTime)})
}

func (m *mixedLocks) has(key string) bool {
	lock := m.place(key).Load()
	return lock != nil && lock.key == key && time.Now().Before(lock.until)
}

// Shares implements lockrt.Sharer.
func (*session) Shares() {}

// Downgrade implements lockrt.Downgrader.
func (s *session) Downgrade(ctx context.Context, d lockrt.Downgrading) (uint64, error) {
	keys, anew := s.space.keys(d.Key), 0
	if d.NewEpoch {
		anew = 1
	}
	var answer []int64
	_, err := s.once(ctx, func(limit context.Context) (done, unsure bool, err error) {
		cmd := s.runLimited(ctx, limit, downgradeScript, keys.all(), d.ID, s.waiterID, s.retention.Milliseconds(), anew)
		answer, err = ints(cmd, 2)
		return err == nil, false, err
	})
	if err != nil {
		return 0, err
	}
	s.mixed.add(keys.lock)
	lease := lockrt.HeldLease{Key: d.Key, ID: d.ID, Mode: lockrt.Read}
	if err := s.settle(lease, answer[0]); err != nil {
		return 0, fmt.Errorf("downgrade: %w", err)
	}
	return uint64(answer[1]), nil
}
