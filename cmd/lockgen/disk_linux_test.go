package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// canMount tells whether this process may mount a file system.
var canMount = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "lockgen")
	if err != nil {
		return false
	}
	defer os.Remove(dir)
	if err := mountTiny(dir); err != nil {
		return false
	}
	return syscall.Unmount(dir, 0) == nil
})

func mountTiny(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=32k") }

// tinydisk mounts a small file system on a folder, until the script ends.
func tinydisk(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(mountTiny(dir))
	ts.Defer(func() { ts.Check(syscall.Unmount(dir, 0)) })
}

// readonly keeps everybody from writing to a folder that tinydisk has made.
func readonly(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(syscall.Mount("", ts.MkAbs(args[0]), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
}

// fill writes into a file until there is no room for more.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	f, err := os.Create(filepath.Join(ts.MkAbs(args[0]), "filler"))
	ts.Check(err)
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		ts.Check(err)
	}
	ts.Check(f.Close())
}
