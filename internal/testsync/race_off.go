//go:build !race

package testsync

const raceEnabled = false
