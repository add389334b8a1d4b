package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockgen/lockgen/internal/testmodule"
)

// The three groups of packages: without directives, with keys that the source alone decides, and with keys that need
// the types of another package.
const (
	none  = "none"
	plain = "plain"
	typed = "typed"
)

// writeModule makes a module that uses this one as a user's does.
func writeModule(dir string, packages int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := testmodule.Init(dir, "example.com/app"); err != nil {
		return err
	}
	files := map[string]string{}
	for i := range packages {
		for group, directive := range map[string]string{
			none:  "// orderLocked has no directive.",
			plain: "//lock:key=order:{userID}:{sku},ttl=30s",
			typed: "//lock:key=order:{userID}:{from},ttl=30s",
		} {
			files[fmt.Sprintf("%s/p%02d/p.go", group, i)] = fmt.Sprintf(source, i, directive)
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const source = `package p%02d

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type UserID int64

type Order struct {
	ID  int64
	Req *http.Request
}

type Store interface {
	Place(ctx context.Context, userID UserID, sku string) (Order, error)
}

type Shop struct {
	locks *lockrt.Locker
	store Store
}

%s
func (s *Shop) orderLocked(ctx context.Context, userID UserID, sku string, from netip.Addr) (Order, error) {
	fmt.Println(from)
	return s.store.Place(ctx, userID, sku)
}
`

// removeOutputs deletes what the tools have written.
func removeOutputs(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && entry.Name() != "p.go" {
			return os.Remove(path)
		}
		return err
	})
}
