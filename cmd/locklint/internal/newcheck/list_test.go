package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestList_current: the committed list is that of the folders.
func TestList_current(t *testing.T) {
	root, err := checksDir()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, listName))
	if err != nil {
		t.Fatal(err)
	}
	want, err := list(root)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date: run go run ./cmd/locklint/internal/newcheck", filepath.Join(root, listName))
	}
}
