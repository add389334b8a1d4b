package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"time"
)

const (
	// combineAlone is how many statements a combiner has under way, each for one lease, before it begins to gather them.
	combineAlone = 4
	// combineLanes is how many gathered statements are under way at a time.
	combineLanes = 2
	// combineBatch is how many leases one statement works on at the most.
	combineBatch = 32
)

// combiner runs one kind of statement for concurrent callers together. As long as few are under way, each goes out at
// once and alone; when there are more, leases are gathered and go out in one statement when a lane is free. So few
// callers pay nothing, and many share a round trip, a commit and its flush.
type combiner struct {
	run    func(ctx context.Context, batch []*entry)
	start  func(func()) // runs it on a goroutine
	latest func() int64 // until when a gathered statement may act

	mu      sync.Mutex // guards what follows
	alone   int        // statements under way that were not gathered
	lanes   int        // at least one while anybody waits
	waiting []*entry
}

// entry is one lease's part in a statement.
type entry struct {
	id, key string
	name    []byte
	ttl     int64
	latest  int64 // until when it may act, on the server's clock; of the batch, once that is made

	done chan struct{}
	gone bool // its caller has left; guarded by combiner.mu
	answer
	ok  bool // it was done; otherwise it is to be asked for alone
	err error
}

// do runs the statement for p. latest is until when it may act, if there was no answer.
func (c *combiner) do(ctx context.Context, p *entry) (a answer, latest int64, err error) {
	p.done = make(chan struct{})
	c.mu.Lock()
	if c.lanes == 0 && c.alone < combineAlone {
		c.alone++
		c.mu.Unlock()
		c.run(ctx, []*entry{p})
		c.mu.Lock()
		c.alone--
		c.mu.Unlock()
		return p.answer, p.latest, p.err
	}
	c.waiting = append(c.waiting, p)
	if c.lanes < combineLanes {
		c.lanes++
		c.start(c.lane)
	}
	c.mu.Unlock()
	select {
	case <-p.done:
		return p.answer, p.latest, p.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p.gone = true
	return answer{}, p.latest, ctx.Err()
}

// lane sends what is gathered, until nobody waits any more.
func (c *combiner) lane() {
	for {
		c.mu.Lock()
		batch := c.take()
		if len(batch) == 0 {
			c.lanes--
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		c.run(ctx, batch)
		cancel()
		for _, e := range batch {
			close(e.done)
		}
		// Those callers mostly come back at once for their next lease: let them, so that it goes along.
		runtime.Gosched()
	}
}

// take returns the next batch, with each lock once at the most: a statement would meet its own change. Who comes second
// is to ask for itself. mu is held.
func (c *combiner) take() []*entry {
	var batch, rest []*entry
	names, latest := make(map[string]bool), c.latest()
	for _, e := range c.waiting {
		switch {
		case e.gone:
		case names[string(e.name)]:
			close(e.done)
		case len(batch) == combineBatch:
			rest = append(rest, e)
		default:
			names[string(e.name)] = true
			e.latest = latest
			batch = append(batch, e)
		}
	}
	c.waiting = rest
	return batch
}

// takeMany is A1.
func (s *session) takeMany(ctx context.Context, batch []*entry) {
	t, err := s.store.ready(ctx)
	if err != nil {
		fail(batch, err)
		return
	}
	if len(batch) > 1 {
		s.takeTogether(ctx, t, batch)
		return
	}
	e := batch[0]
	e.answer, e.err = s.takeAlone(ctx, t, e)
	e.ok = e.outcome == granted
}

func (s *session) takeAlone(ctx context.Context, t *tables, e *entry) (a answer, err error) {
	sent := time.Now()
	err = t.query(ctx, s.store.db, t.take, args{
		"name": e.name, "key": []byte(e.key), "id": e.id, "session": s.id, "node": s.node, "ttl": e.ttl, "latest": e.latest,
	}, func(rows *sql.Rows) error {
		var epoch, since int64
		err := rows.Scan(&epoch, &since)
		a = takenAnswer(epoch, since, e.ttl, sent)
		return err
	})
	return a, err
}

func (s *session) takeTogether(ctx context.Context, t *tables, batch []*entry) {
	byID := make(map[string]*entry, len(batch))
	var names, keys [][]byte
	var ids, ttls []string
	for _, e := range batch {
		byID[e.id] = e
		names, keys = append(names, e.name), append(keys, []byte(e.key))
		ids, ttls = append(ids, e.id), append(ttls, decimal(e.ttl))
	}
	sent := time.Now()
	err := t.query(ctx, s.store.db, t.takeMany, args{
		"names": postgresArray(hexNames(names)), "keys": postgresArray(hexNames(keys)), "ids": postgresArray(ids),
		"ttls": postgresArray(ttls), "session": s.id, "node": s.node, "latest": batch[0].latest,
	}, func(rows *sql.Rows) error {
		var id string
		var epoch, since int64
		if err := rows.Scan(&id, &epoch, &since); err != nil {
			return err
		}
		e := byID[id]
		if e == nil {
			return errors.New("a statement of the locks granted a lease that nobody asked for")
		}
		e.answer, e.ok = takenAnswer(epoch, since, e.ttl, sent), true
		return nil
	})
	if err != nil {
		fail(batch, err)
	}
}

// freeMany is R1.
func (s *session) freeMany(ctx context.Context, batch []*entry) {
	t, err := s.store.ready(ctx)
	if err != nil {
		fail(batch, err)
		return
	}
	if len(batch) > 1 {
		s.freeTogether(ctx, t, batch)
		return
	}
	e := batch[0]
	e.ok, e.err = s.freeAlone(ctx, t, e)
}

func (s *session) freeAlone(ctx context.Context, t *tables, e *entry) (bool, error) {
	n, err := t.exec(ctx, s.store.db, t.free, args{"name": e.name, "id": e.id})
	return n > 0, err
}

func (s *session) freeTogether(ctx context.Context, t *tables, batch []*entry) {
	byID := make(map[string]*entry, len(batch))
	var names [][]byte
	var ids []string
	for _, e := range batch {
		byID[e.id] = e
		names, ids = append(names, e.name), append(ids, e.id)
	}
	err := t.query(ctx, s.store.db, t.freeMany, args{
		"names": postgresArray(hexNames(names)), "ids": postgresArray(ids),
	}, func(rows *sql.Rows) error {
		var id, setting string
		if err := rows.Scan(&id, &setting); err != nil {
			return err
		}
		if e := byID[id]; e != nil {
			e.ok = true
		}
		return nil
	})
	if err != nil {
		fail(batch, err)
	}
}

func fail(batch []*entry, err error) {
	for _, e := range batch {
		e.answer, e.ok, e.err = answer{}, false, err
	}
}
