// Lockgen writes the wrappers of Go functions that carry a //lock: directive.
//
//	//lock:key=order:{userID},ttl=30s
//	func (s *Shop) placeOrderLocked(ctx context.Context, userID int64) (Order, error)
//
// gives the package a method placeOrder of the same signature that runs placeOrderLocked while it holds the lock. Run
//
//	lockgen ./...
//
// once for a whole repository, or put //go:generate lockgen into a package. lockgen -h lists the flags.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	debug.SetGCPercent(400) // a run is short, and the memory of most is small
	// Neither signal leaves half a run. The second one ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
