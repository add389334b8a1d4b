package sqldialect

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"
)

// File is the file of a SQLite database. Connections go on with the one that they have opened when it is removed or
// another one takes its place, and others work in the new one.
type File struct{ opened atomic.Pointer[openedFile] }

type openedFile struct {
	path string
	info fs.FileInfo
}

// ErrReplaced says that the file of a pool is not the one any more that it has opened.
var ErrReplaced = errors.New("the file of the database was removed or replaced")

// files are by the pools that have opened them: a store that is made later, on connections to the old file, must not take
// the new one for theirs.
var files sync.Map // of weak.Pointer[sql.DB] to *File

// FileOf returns what is known of a pool's file. Nothing is, until Learn is called.
func FileOf(db *sql.DB) *File {
	if db == nil {
		return new(File)
	}
	pool := weak.Make(db)
	f, known := files.LoadOrStore(pool, new(File))
	if !known {
		runtime.AddCleanup(db, func(pool weak.Pointer[sql.DB]) { files.Delete(pool) }, pool)
	}
	return f.(*File)
}

// Learn remembers which file a connection of the pool has opened, if that is not known yet, and otherwise checks it. A
// database without one is nobody else's.
func (f *File) Learn(ctx context.Context, q Querier) error {
	if f.opened.Load() != nil {
		return f.Check()
	}
	var path string
	if err := One(ctx, q, "SELECT coalesce(file, '') FROM pragma_database_list WHERE name = 'main'", &path); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		f.opened.CompareAndSwap(nil, &openedFile{path, info})
	}
	return nil
}

// Check returns an error if the file is not the one that was opened.
func (f *File) Check() error {
	opened := f.opened.Load()
	if opened == nil {
		return nil
	}
	info, err := os.Stat(opened.path)
	if err == nil && os.SameFile(info, opened.info) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return Refusal("%w since the pool has opened %s: who comes now works in another one; open the pool and the store again, "+
		"or restart the process", ErrReplaced, opened.path)
}
