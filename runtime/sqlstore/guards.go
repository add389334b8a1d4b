package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// guardsTime is how long it may take to find the transactions that are in the way of a call.
const guardsTime = time.Second

// guardsSQL finds the transactions that have locked a row of the table, as Guard does, and do not wait for another.
const guardsSQL = `SELECT coalesce(string_agg(DISTINCT l.pid::text, ', '), '') FROM pg_locks AS l
WHERE l.relation = '{lock}'::regclass AND l.mode = 'RowShareLock' AND l.granted AND l.pid <> pg_backend_pid()
  AND NOT EXISTS (SELECT 1 FROM pg_locks AS w WHERE w.pid = l.pid AND NOT w.granted)`

// guards returns the server's processes with transactions that guard a lease, "" if there are none, or if it takes longer
// than limit to find them.
func (s *session) guards(t *tables, limit time.Duration) (pids string) {
	if t.Dialect != sqldialect.Postgres {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if sqldialect.One(ctx, s.store.db, t.names.Replace(guardsSQL), &pids) != nil {
		return ""
	}
	return pids
}

// guardedBy adds to the error of a call that may have waited for transactions which these are.
func guardedBy(err error, pids string) error {
	if pids == "" {
		return err
	}
	return fmt.Errorf("%w; %w", err, guardsError(pids))
}

// guardsError has the server's processes in question.
type guardsError string

func (e guardsError) Error() string {
	return fmt.Sprintf("transactions that guard a lease are open in the server's processes %s (pg_stat_activity), "+
		"one of them may be the holder's: the lock goes on when it ends", string(e))
}

// lookForGuards asks who is in the way shortly before the time of a call is over. found waits for the answer; it is to
// be called when the call is over, and returns "" if that took no such time.
func (s *session) lookForGuards(ctx context.Context) (found func() string) {
	left := callTime
	if end, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(end))
	}
	t := s.store.known.Load()
	if t == nil || t.Dialect != sqldialect.Postgres || left < 2*askSilence {
		return func() string { return "" }
	}
	pids, limit := make(chan string, 1), min(left/2, guardsTime)
	timer := time.AfterFunc(left-limit, func() { pids <- s.guards(t, limit) })
	return func() string {
		if timer.Stop() {
			return ""
		}
		return <-pids
	}
}
