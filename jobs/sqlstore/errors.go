package sqlstore

import (
	"context"
	"errors"
)

var errNoAnswer = errors.New("the database did not answer within " + callTime.String())

// explain is a failed call's error as the caller gets it. Only where ctx, the caller's own, has ended it says so.
func (t *tables) explain(ctx context.Context, err error) error {
	if over := ctx.Err(); err != nil && over != nil {
		if errors.Is(err, over) {
			return err
		}
		return errors.Join(over, err)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return errNoAnswer
	}
	return t.Help(err)
}
