package runtime

// ReachMaxHold is the callback of a lease's MaxHold, at any time.
func ReachMaxHold(le *Lease) { le.reachMaxHold() }
