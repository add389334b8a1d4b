//go:build race

package testenv

// RaceEnabled is whether the test binary has the race detector, with which code takes several times as long.
const RaceEnabled = true
