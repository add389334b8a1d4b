package main

import (
	"context"
	"time"
)

// paymentTime is what the payment service needs for its yes.
const paymentTime = 2 * time.Millisecond

// authorize stands for the payment service, which every order asks between
// looking and writing. That real orders take a moment there is what makes the
// unsafe one fail under load, instead of on a bad day.
func authorize(ctx context.Context) error {
	select {
	case <-time.After(paymentTime):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
