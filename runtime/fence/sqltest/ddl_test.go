package sqltest

import (
	"errors"
	"testing"

	"github.com/lockgen/lockgen/internal/testddl"
	"github.com/lockgen/lockgen/runtime/fence"
)

// files: what a tool for migrations makes of the file is a table that guards work with. Once more changes nothing.
func (e engine) files(t *testing.T) {
	file := testddl.File{Folder: "../ddl", Name: "fences", Version: 1}
	for range 2 {
		file.Run(t, string(e.dialect), e.db, testddl.Cut)
	}
	s := fence.SQL{Dialect: e.dialect}
	if err := e.guarded(t.Context(), s, "files", 9); err != nil {
		t.Error(err)
	}
	if err := e.guarded(t.Context(), s, "files", 8); !errors.Is(err, fence.ErrStale) {
		t.Errorf("stale: %v", err)
	}
}
