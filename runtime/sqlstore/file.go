package sqlstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// file is the file of a SQLite database. Connections go on with the one that they have opened when it is removed or
// another one takes its place, and others lock in the new one.
type file struct{ opened atomic.Pointer[openedFile] }

type openedFile struct {
	path string
	info fs.FileInfo
}

var errReplaced = errors.New("the file of the locks was removed or replaced")

// learn remembers which file a connection has opened. A database without one is nobody else's.
func (f *file) learn(ctx context.Context, q querier) error {
	var path string
	if err := sqldialect.One(ctx, q, "SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'", &path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		f.opened.Store(&openedFile{path, info})
	}
	return nil
}

// check returns an error if the file is not the one that was opened.
func (f *file) check() error {
	opened := f.opened.Load()
	if opened == nil {
		return nil
	}
	info, err := os.Stat(opened.path)
	if err == nil && os.SameFile(info, opened.info) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return sqldialect.Refusal("%w since the pool has opened %s: who comes now locks elsewhere; open the store again",
		errReplaced, opened.path)
}
