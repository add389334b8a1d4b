package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun_interruptedWritesNothing: a run that is told to stop before it writes ends at once, and never writes.
func TestRun_interruptedWritesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := initModule(dir); err != nil {
		t.Fatal(err)
	}
	source := "package app\n\n//lock:key=a,ttl=30s\nfunc workLocked() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "app.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, []string{"./..."}, &stdout, &stderr); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("says %q", stderr.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "lock_gen.go")); err == nil {
		t.Error("lock_gen.go was written")
	}
}
