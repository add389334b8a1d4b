package sqldialect

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"weak"
)

// File is what is known of the files of a pool of SQLite. Connections go on with the ones that they have opened when these
// are removed or others take their places, and others work in the new ones.
type File struct {
	opened atomic.Pointer[[]openedFile] // nil: nothing is known

	mu    sync.Mutex // guards changes
	named string     // the path by which the pool was opened, if it is known; symbolic links in it may change
}

type openedFile struct {
	schema string // under which a connection has it
	path   string
	info   fs.FileInfo
}

// ErrReplaced says that the file of a pool is not the one any more that it has opened.
var ErrReplaced = errors.New("the file of the database was removed or replaced")

// files are by the pools that have opened them: a store that is made later, on connections to the old file, must not take
// the new one for theirs.
var files sync.Map // of weak.Pointer[sql.DB] to *File

// FileOf returns what is known of a pool's files. Nothing is, until Learn is called.
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

// Named tells by which path all connections of the pool are opened.
func (f *File) Named(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.named = path
}

// Learn remembers which file a connection of the pool has opened for a schema, main or an attached one, if that is not
// known yet, and otherwise checks it. It refuses a database that is in no file: each connection may have one of its own,
// and no other process sees it.
func (f *File) Learn(ctx context.Context, q Querier, schema string) error {
	if schema == "" {
		schema = "main"
	}
	if err := f.Check(); err != nil || f.knows(schema) {
		return err
	}
	var path string
	text := "SELECT coalesce(file, '') FROM pragma_database_list WHERE name = '" + strings.ReplaceAll(schema, "'", "''") + "' COLLATE NOCASE"
	if err := One(ctx, q, text, &path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case path == "":
		return Refusal("the database is in memory, where no other process sees it; open a file, or take the store in memory")
	case isGone(err):
		return replaced(path)
	case err != nil:
		return nil // it cannot be looked at
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := []openedFile{{schema, path, info}}
	if schema == "main" && f.named != "" {
		all = append(all, openedFile{schema, f.named, info})
	}
	if known := f.opened.Load(); known != nil {
		all = append(all, *known...)
	}
	f.opened.Store(&all)
	return nil
}

func (f *File) knows(schema string) bool {
	all := f.opened.Load()
	return all != nil && slices.ContainsFunc(*all, func(o openedFile) bool { return strings.EqualFold(o.schema, schema) })
}

// Check returns an error if one of the files is not the one that was opened.
func (f *File) Check() error {
	all := f.opened.Load()
	if all == nil {
		return nil
	}
	for _, o := range *all {
		info, err := os.Stat(o.path)
		if isGone(err) || err == nil && !os.SameFile(info, o.info) {
			return replaced(o.path)
		}
	}
	return nil
}

// isGone reports whether there is no file under a path, or no folder any more on the way there.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

func replaced(path string) error {
	return Refusal("%w since the pool has opened %s: who comes now works in another one; open the pool and the store again, "+
		"or restart the process", ErrReplaced, path)
}
