// Package cgo uses C.
package cgo

// typedef unsigned long measure;
import "C"

import "example.com/app/probe"

type measure = C.measure

//lock:key=cgo-1:{n},ttl=30s
func throughGoLocked(m measure, n int) (measure, error) { probe.Run(m, n); return m, probe.Err() }
