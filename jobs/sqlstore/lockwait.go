package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"sync"
	"time"
)

// waiting has no statement wait for a lock for longer than wait, a number of seconds, where the database can say so in the
// statement. Otherwise one whose caller has left goes on waiting at the server, with the locks that its transaction has.
func (t *tables) waiting(q querier, wait time.Duration) querier {
	if t.within == "" {
		return q
	}
	return within{q, fmt.Sprintf(t.within, int(wait.Seconds()))}
}

type within struct {
	querier
	prefix string
}

func (w within) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return w.querier.ExecContext(ctx, w.prefix+query, args...)
}

func (w within) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return w.querier.QueryContext(ctx, w.prefix+query, args...)
}

// lockedFor is how long a job is remembered to be locked of which nobody has asked since.
const lockedFor = time.Minute

// lockedJobs are the jobs whose rows others keep locked, as far as this process has found. Nobody waits for those again:
// other jobs would be late each time.
type lockedJobs struct {
	mu sync.Mutex
	at map[string]time.Time // when it was found last
}

// among returns those of some jobs that are known to be locked.
func (l *lockedJobs) among(some set) (known set) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.at, func(_ string, at time.Time) bool { return time.Since(at) > lockedFor })
	for job := range l.at {
		if some[job] {
			known.add(job)
		}
	}
	return known
}

// note takes in which jobs a step found locked, and which not.
func (l *lockedJobs) note(n *need) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.at) == 0 && len(n.locked) == 0 {
		return
	}
	if l.at == nil {
		l.at = make(map[string]time.Time)
	}
	for job := range n.jobs {
		if n.locked[job] {
			l.at[job] = time.Now()
		} else {
			delete(l.at, job)
		}
	}
}
