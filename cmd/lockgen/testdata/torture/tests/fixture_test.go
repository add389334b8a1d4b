package tests

import "example.com/app/probe"

type fixture string

//lock:key=tests-1:{f},ttl=30s
func insideLocked(f fixture) (fixture, error) { probe.Run(f); return f, probe.Err() }

//lock:key=tests-2:{t.ID},ttl=30s
func (t *Thing) methodLocked() error { probe.Run(t); return probe.Err() }

// Exported for the tests outside of the package.
type Fixture = fixture
