package testenv

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// requireEnv names the environment variable that lists the servers without
// which a test must fail.
const requireEnv = "LOCKGEN_REQUIRE"

// Required reports whether LOCKGEN_REQUIRE lists server.
func Required(server string) bool {
	names := strings.Split(os.Getenv(requireEnv), ",")
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.TrimSpace(name) == server
	})
}

// missing ends the test: it fails where the server is required, else it skips.
func missing(t testing.TB, server string, reason error) {
	t.Helper()
	if Required(server) {
		t.Fatalf("testenv: %s=%q requires %s: %v", requireEnv, os.Getenv(requireEnv), server, reason)
	}
	t.Skip(skipReason(server, reason))
}

func skipReason(server string, reason error) string {
	return fmt.Sprintf("needs %s: %v (%s does not list it)", server, reason, requireEnv)
}
