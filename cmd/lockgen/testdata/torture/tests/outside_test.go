package tests_test

import (
	"testing"

	"example.com/app/probe"
	"example.com/app/tests"
)

//lock:key=tests-3:{x.ID},ttl=30s
func outsideLocked(x tests.Thing, t *testing.T) error { probe.Run(x); return probe.Err() }

//lock:key=tests-4:{x},ttl=30s
func exportedForTestsLocked(x tests.Fixture) { probe.Run(x) }
