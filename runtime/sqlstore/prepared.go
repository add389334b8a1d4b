package sqlstore

import (
	"context"
	"database/sql"
	"sync"
)

const (
	// maxPrepared is how many texts are prepared, of as many parameters each at the most. Those of many locks differ with
	// their number and are rare; the others are some twenty.
	maxPrepared = 64
	maxParams   = 150
)

// prepared is a pool whose statements are parsed once for each connection, where that pays: see [dialect.prepares]. It
// prepares none while no session is open, so that whoever closes his Lockers leaves nothing behind in a pool of his own.
type prepared struct {
	*sql.DB

	mu       sync.Mutex // guards what follows
	on       bool       // the engine is known to gain by it
	sessions int        // that are open
	inUse    int        // statements that run
	texts    map[string]*sql.Stmt
}

// opened and closed count sessions. The last one that closes ends the statements.
func (p *prepared) opened() {
	p.mu.Lock()
	p.sessions++
	p.mu.Unlock()
}

func (p *prepared) closed() {
	p.mu.Lock()
	p.sessions--
	p.mu.Unlock()
	p.endUnused()
}

// turnOn is called when the engine is known.
func (p *prepared) turnOn() {
	p.mu.Lock()
	p.on = true
	p.mu.Unlock()
}

// ExecContext implements querier.
func (p *prepared) ExecContext(ctx context.Context, text string, values ...any) (sql.Result, error) {
	st, err := p.get(ctx, text, len(values))
	if err != nil {
		return nil, err
	}
	if st == nil {
		return p.DB.ExecContext(ctx, text, values...)
	}
	defer p.put()
	return st.ExecContext(ctx, values...)
}

// QueryContext implements querier.
func (p *prepared) QueryContext(ctx context.Context, text string, values ...any) (*sql.Rows, error) {
	st, err := p.get(ctx, text, len(values))
	if err != nil {
		return nil, err
	}
	if st == nil {
		return p.DB.QueryContext(ctx, text, values...)
	}
	defer p.put() // database/sql itself keeps a statement open while its rows are
	return st.QueryContext(ctx, values...)
}

// get returns the statement, nil if it is none of those that are prepared. After one was used, put is called.
func (p *prepared) get(ctx context.Context, text string, params int) (*sql.Stmt, error) {
	st, fresh := p.known(text, params)
	if !fresh {
		return st, nil
	}
	made, err := p.DB.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if st = p.keep(text, made); st != made { // another goroutine was first, or the last session has closed
		_ = made.Close()
	}
	return st, nil
}

// known returns a statement that is there. fresh says that there is none yet.
func (p *prepared) known(text string, params int) (st *sql.Stmt, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on || p.sessions == 0 || params > maxParams {
		return nil, false
	}
	if st = p.texts[text]; st != nil {
		p.inUse++
	}
	return st, st == nil && len(p.texts) < maxPrepared
}

// keep remembers a statement, and returns the one that is to be used.
func (p *prepared) keep(text string, made *sql.Stmt) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.sessions == 0:
		return nil
	case p.texts == nil:
		p.texts = make(map[string]*sql.Stmt)
	}
	if p.texts[text] == nil {
		p.texts[text] = made
	}
	p.inUse++
	return p.texts[text]
}

func (p *prepared) put() {
	p.mu.Lock()
	p.inUse--
	last := p.inUse == 0 && p.sessions == 0
	p.mu.Unlock()
	if last {
		p.endUnused()
	}
}

// endUnused closes the statements if nobody uses them any more.
func (p *prepared) endUnused() {
	p.mu.Lock()
	var ended map[string]*sql.Stmt
	if p.sessions == 0 && p.inUse == 0 {
		ended, p.texts = p.texts, nil
	}
	p.mu.Unlock()
	for _, st := range ended {
		_ = st.Close()
	}
}
