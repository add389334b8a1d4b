package testenv

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// Chromium returns the path of a Chromium or Chrome to drive, LOCKGEN_CHROMIUM if that is set. Without one the test is
// skipped, or fails where LOCKGEN_REQUIRE lists chromium.
func Chromium(t testing.TB) string {
	t.Helper()
	programs := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	if program := os.Getenv("LOCKGEN_CHROMIUM"); program != "" {
		programs = []string{program}
	}
	var errs []error
	for _, program := range programs {
		path, err := exec.LookPath(program)
		if err == nil {
			return path
		}
		errs = append(errs, err)
	}
	missing(t, "chromium", errors.Join(errs...))
	return ""
}
