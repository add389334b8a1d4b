// Package testsync lets tests wait for what other goroutines, and other processes, do.
package testsync

import (
	"testing"
	"time"
)

const pollEvery = 2 * time.Millisecond

// Patience is how long something may take that must come. Only a failure takes this long. It may be changed before any
// test has begun, where failures are what is wanted.
var Patience = 5 * time.Minute

// Eventually returns when cond holds, and ends the test when that takes too long. It must be called from the test's own
// goroutine, as t.Fatal must.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(Patience); !cond(); time.Sleep(pollEvery) {
		if time.Now().After(end) {
			t.Fatalf("did not come to be: %s", what)
		}
	}
}
