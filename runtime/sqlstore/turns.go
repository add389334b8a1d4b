package sqlstore

import (
	"context"
	"sync"
)

// rowTurns is how many statements of callers are under way for one row at a time. More would wait for each other at the
// server, and where another program keeps the row locked they would leave no connection to those who want other locks.
const rowTurns = 2

// turns lets callers have their statements on a row. The zero value is usable.
type turns struct {
	mu  sync.Mutex // guards what follows
	row map[string]*rowTurn
}

type rowTurn struct {
	taken chan struct{} // has an element for each statement under way
	users int           // those, and those who wait
}

// take waits for a turn, which over ends.
func (t *turns) take(ctx context.Context, name []byte) (over func(), err error) {
	t.mu.Lock()
	r := t.at(string(name))
	t.mu.Unlock()
	select {
	case r.taken <- struct{}{}:
		return func() { t.end(string(name)) }, nil
	case <-ctx.Done():
		t.leave(string(name))
		return nil, ctx.Err()
	}
}

// takeFree takes a turn for each of those whose row nobody is at, and returns them. over ends the turns.
func (t *turns) takeFree(batch []*item) (free []*item, over func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range batch {
		if t.row[string(e.name)] == nil {
			t.at(string(e.name)).taken <- struct{}{}
			free = append(free, e)
		}
	}
	return free, func() {
		for _, e := range free {
			t.end(string(e.name))
		}
	}
}

// at counts one more user of a row; mu is held.
func (t *turns) at(name string) *rowTurn {
	if t.row == nil {
		t.row = make(map[string]*rowTurn)
	}
	r := t.row[name]
	if r == nil {
		r = &rowTurn{taken: make(chan struct{}, rowTurns)}
		t.row[name] = r
	}
	r.users++
	return r
}

// end ends a turn.
func (t *turns) end(name string) {
	t.mu.Lock()
	r := t.row[name]
	t.mu.Unlock()
	<-r.taken
	t.leave(name)
}

// leave counts one user less.
func (t *turns) leave(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.row[name]
	if r.users--; r.users == 0 {
		delete(t.row, name)
	}
}

// patient has what a session waits for at the server in the background, where somebody may keep a row locked: one
// statement for each of certain names, and so many in all.
type patient struct {
	slots chan struct{} // has an element for each

	mu    sync.Mutex               // guards what follows
	names map[string]chan struct{} // closed when it is over
}

func newPatient(most int) patient {
	return patient{slots: make(chan struct{}, most), names: make(map[string]chan struct{})}
}

// begin waits until a statement may begin, which end ends. It returns false if ctx ends before.
func (p *patient) begin(ctx context.Context, name string) bool {
	for {
		p.mu.Lock()
		other := p.names[name]
		if other == nil {
			p.names[name] = make(chan struct{})
		}
		p.mu.Unlock()
		if other == nil {
			break
		}
		select {
		case <-other:
		case <-ctx.Done():
			return false
		}
	}
	select {
	case p.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		p.leave(name)
		return false
	}
}

func (p *patient) end(name string) {
	<-p.slots
	p.leave(name)
}

func (p *patient) leave(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.names[name])
	delete(p.names, name)
}
