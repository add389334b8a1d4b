//go:build !windows

package built

import "example.com/app/probe"

type size int

//lock:key=built-2:{s},ttl=30s
func (s size) notWindowsLocked() { probe.Run(s) }
