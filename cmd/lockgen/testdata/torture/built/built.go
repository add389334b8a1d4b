// Package built has directives under every kind of constraint.
package built

import "example.com/app/probe"

//lock:key=built-1:{s},ttl=30s
func everywhereLocked(s size) size { probe.Run(s); return s }
