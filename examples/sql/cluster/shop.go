package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/sqlstore"
)

// orderEvery is how often an order comes.
const orderEvery = 200 * time.Millisecond

// errChanged is why every third customer's transaction is rolled back.
var errChanged = errors.New("the customer has changed her mind")

// shop takes orders. An order and the one-off job for its receipt are one transaction.
type shop struct {
	db    *sql.DB
	store *sqlstore.Store
	name  string // in front of the orders' numbers
	taken int
}

// serve takes orders until ctx ends.
func (s *shop) serve(ctx context.Context) error {
	ticker := time.NewTicker(orderEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		id := fmt.Sprintf("%s-%d", s.name, n)
		err := s.order(context.WithoutCancel(ctx), id, n%3 == 0)
		if err != nil && !errors.Is(err, errChanged) {
			return fmt.Errorf("order %s: %w", id, err)
		}
		s.taken++
	}
}

func (s *shop) order(ctx context.Context, id string, changed bool) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	// The number is of our own making, and no input.
	if _, err := tx.ExecContext(ctx, "INSERT INTO cluster_order (id) VALUES ('"+id+"')"); err != nil {
		return err
	}
	if err := s.store.PutTx(ctx, tx, jobs.OneOff{ID: id, Handler: receipts, At: time.Now()}); err != nil {
		return err
	}
	if changed {
		return errChanged
	}
	return tx.Commit()
}

// audit compares the orders with the receipts that were sent, are in flight or wait. It says what is wrong.
func (s *shop) audit(ctx context.Context) (problems []string, orders, sent int, err error) {
	receiptOf, sent, err := s.receipts(ctx)
	if err != nil {
		return nil, 0, 0, err
	}
	rows, err := s.db.QueryContext(ctx, "SELECT id FROM cluster_order")
	if err != nil {
		return nil, 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, 0, 0, err
		}
		if !strings.HasPrefix(id, s.name+"-") {
			continue // of another run of the example
		}
		if orders++; !receiptOf[id] {
			problems = append(problems, "order "+id+" has no receipt")
		}
		delete(receiptOf, id)
	}
	for id := range receiptOf {
		problems = append(problems, "receipt "+id+" is for no order")
	}
	return problems, orders, sent, rows.Err()
}

func (s *shop) receipts(ctx context.Context) (known map[string]bool, sent int, err error) {
	const most = 100_000
	runs, err := s.store.Runs(ctx, []string{jobs.HandlerPrefix + receipts}, most)
	if err != nil {
		return nil, 0, err
	}
	flights, err := s.store.InFlight(ctx)
	if err != nil {
		return nil, 0, err
	}
	waiting, err := s.store.Waiting(ctx, most)
	if err != nil {
		return nil, 0, err
	}
	known = make(map[string]bool)
	for _, r := range runs[0] {
		known[r.OneOff] = true
	}
	sent = len(known)
	for _, p := range flights {
		if p.Run.OneOff != "" {
			known[p.Run.OneOff] = true
		}
	}
	for _, o := range waiting {
		known[o.ID] = true
	}
	return known, sent, nil
}
