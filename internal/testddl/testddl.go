// Package testddl writes and compares the files of DDL that tools for migrations run.
package testddl

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// File is one: FOLDER/DIALECT/VERSION_lockgen_NAME.sql.
type File struct {
	Folder  string
	Name    string // what is in the tables, in the plural
	Version int
	DDL     func(dialect, prefix string) (string, error)
}

// Dialects are those that there are files for.
var Dialects = []string{"postgres", "mysql", "sqlite"}

// Path is where the file of a dialect stands.
func (f File) Path(dialect string) string {
	return filepath.Join(f.Folder, dialect, fmt.Sprintf("%04d_lockgen_%s.sql", f.Version, f.Name))
}

// header has the lines that goose, sql-migrate and dbmate look for. They are comments to everything else.
const header = `-- The tables of %s, version %d. Generated, DO NOT EDIT: a later version gets a file of its own.
-- +goose Up
-- +migrate Up
-- migrate:up

`

// Run runs the file of a dialect in the way of some tool.
func (f File) Run(t *testing.T, dialect string, db *sql.DB, way Way) {
	t.Helper()
	text, err := os.ReadFile(f.Path(dialect))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range way(string(text)) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v\n%s", f.Path(dialect), err, statement)
		}
	}
}

// Way is how a tool cuts a file.
type Way func(text string) []string

// Whole sends all as one; MySQL needs multiStatements for it. Cut is the simplest way.
func Whole(text string) []string { return []string{text} }
func Cut(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ";"), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// Check fails the test unless the files have what DDL returns. With LOCKGEN_UPDATE=1 it writes them anew.
func (f File) Check(t *testing.T) {
	t.Helper()
	for _, dialect := range Dialects {
		ddl, err := f.DDL(dialect, "lockgen")
		if err != nil {
			t.Fatal(err)
		}
		if other, err := f.DDL(dialect, "app"); err != nil || other != strings.ReplaceAll(ddl, "lockgen_", "app_") {
			t.Errorf("%s: for tables of another name more than lockgen_ has to be replaced (%v)", dialect, err)
		}
		want, path := fmt.Sprintf(header, f.Name, f.Version)+ddl, f.Path(dialect)
		if os.Getenv("LOCKGEN_UPDATE") != "" {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v; a version that is released keeps its file, and a new one gets its own by LOCKGEN_UPDATE=1", err)
		} else if string(text) != want {
			t.Errorf("%s does not have what DDL returns; if nobody has run it yet, run this test with LOCKGEN_UPDATE=1, and "+
				"otherwise give the tables a new version", path)
		}
		if careful, simple := strings.Count(ddl, ";\n"), strings.Count(ddl, ";"); careful != simple {
			t.Errorf("%s: %d semicolons end %d statements: tools that cut at each would cut a comment or a text",
				path, simple, careful)
		}
		for line := range strings.Lines(ddl) {
			if _, comment, _ := strings.Cut(line, "--"); strings.ContainsAny(comment, "'\"`") {
				t.Errorf("%s: a quote in a comment, which some tools take for the start of a text: %s", path, line)
			}
		}
	}
}
