package main

import (
	"context"
	"database/sql"
)

// placeOrderUnsafe makes the same reads and the same writes as placeOrderLocked,
// as they are usually written first: look whether there is something left, then
// sell it. The writes are in a transaction, which makes both or none of them
// happen and looks as if it made the whole thing safe. Between the reads and the
// writes any number of others reads the same.
func (s *shop) placeOrderUnsafe(ctx context.Context, userID int64) (outcome, error) {
	st, err := s.sale.read(ctx, s.sale.db, userID)
	if err != nil {
		return "", err
	}
	if result := decide(st); result != ordered {
		return result, nil
	}
	if err := authorize(ctx); err != nil {
		return "", err
	}
	err = s.sale.inTx(ctx, func(tx *sql.Tx) (commit bool, err error) {
		return true, s.sale.write(ctx, tx, order{userID: userID, instance: s.name}, st.remaining-1)
	})
	return ordered, err
}
