package user

import (
	"context"

	"ll1003/shop"
)

func refund(ctx context.Context, s *shop.Shop) error {
	return s.Refund(ctx, 1) // want `LL1003: Refund relies on its lock, which only its wrapper RefundWithLock takes: call RefundWithLock`
}

func refundProperly(ctx context.Context, s *shop.Shop) error {
	return s.RefundWithLock(ctx, 1)
}
