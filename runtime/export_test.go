package lockrt

import "context"

// ReachMaxHold is the callback of a lease's MaxHold, at any time.
func ReachMaxHold(le *Lease) { le.reachMaxHold() }

// Share is a nested acquire that has found le to be live.
func Share(ctx context.Context, le *Lease, o Options) (*Lease, error) { return le.share(ctx, o) }

// StopTimers keeps the timer of the deadlines of all leases from running. It reports whether it would have.
func StopTimers(l *Locker) bool { return l.expirer.timer != nil && l.expirer.timer.Stop() }

// StopMaxHold keeps the timer of a lease's MaxHold from running. It reports whether it would have.
func StopMaxHold(le *Lease) bool { return le.maxTimer.Stop() }

// Known is how many leases the Locker knows of.
func Known(l *Locker) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.grants)
}
