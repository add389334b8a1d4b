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

// servers are the names that the variable may list; .ci/servers has them, too. The server of etcd is built into the
// tests that need it, so it never is missing.
var servers = []string{"redis", "postgres", "mariadb", "pgbouncer", "zookeeper", "chromium", "etcd"}

// Required reports whether LOCKGEN_REQUIRE lists server.
func Required(server string) bool { return slices.Contains(required(), server) }

// required returns the names that LOCKGEN_REQUIRE lists.
func required() (names []string) {
	for name := range strings.SplitSeq(os.Getenv(requireEnv), ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// unknownServer is the error of a name that stands for no server: what was meant would be skipped without a word.
func unknownServer() error {
	for _, name := range required() {
		if !slices.Contains(servers, name) {
			return fmt.Errorf("%s=%q: no server is called %q; known are %s", requireEnv, os.Getenv(requireEnv), name,
				strings.Join(servers, ", "))
		}
	}
	return nil
}

// missing ends the test: it fails where the server is required, else it skips.
func missing(t testing.TB, server string, reason error) {
	t.Helper()
	if err := unknownServer(); err != nil {
		t.Fatalf("testenv: %v", err)
	}
	if Required(server) {
		t.Fatalf("testenv: %s=%q requires %s: %v", requireEnv, os.Getenv(requireEnv), server, reason)
	}
	t.Skip(skipReason(server, reason))
}

func skipReason(server string, reason error) string {
	return fmt.Sprintf("needs %s: %v (%s does not list it)", server, reason, requireEnv)
}
