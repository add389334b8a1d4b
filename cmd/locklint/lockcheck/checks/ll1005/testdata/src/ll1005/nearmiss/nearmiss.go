package nearmiss

// @lock:key=a,ttl=30s
func annotated() {}

// /lock:key=a,ttl=30s
func slashed() {}

// @Lock: key=a,ttl=30s
func plain() {}

// //lock:key=a,ttl=30s
// func old() {}

// @lock: protects what follows.
func prose() {}
