package built

import "example.com/app/probe"

//lock:key=built-4,ttl=30s
func linuxLocked(s ...size) error { probe.Run(s); return probe.Err() }
