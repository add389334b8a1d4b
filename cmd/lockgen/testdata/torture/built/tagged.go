//go:build (linux || darwin) && !corpus_off && go1.21

package built

import "example.com/app/probe"

//lock:key=built-5,ttl=30s
func taggedLocked() error { probe.Run(); return probe.Err() }
