package redisstore

import (
	"fmt"
	"strings"
	"testing"
)

// StatOf reads the number after name in what INFO says; 0 if it is not there.
func StatOf(t testing.TB, info, name string) int {
	t.Helper()
	_, rest, ok := strings.Cut(info, name)
	if !ok {
		return 0
	}
	n := 0
	if _, err := fmt.Sscanf(rest, "%d", &n); err != nil {
		t.Fatalf("%s in %q: %v", name, info, err)
	}
	return n
}
