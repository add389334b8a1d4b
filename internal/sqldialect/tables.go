package sqldialect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Tables are what a store keeps in a database.
type Tables struct {
	Dialect
	Of      string // whose they are: "lock" or "job"
	Names   string // for people
	Schema  string // in which they are; "": in that of the connection
	DDL     string // makes them: statements that end with a semicolon and a line break
	Grants  string // gives a role the rights that it needs; "": there are no roles
	Creator string // the function that makes them
	Refuses string // a mode of MySQL in which the statements mean something else; "": none but those that always do
}

// emptyIsNull is a mode of MariaDB in which a column that must have a value cannot have an empty one.
const emptyIsNull = "EMPTY_STRING_IS_NULL"

// Judge refuses servers that will not do for the statements on the tables.
func (t Tables) Judge(s Server) error {
	if err := s.Judge(); err != nil {
		return err
	}
	return t.judgeModes(s)
}

func (t Tables) judgeModes(s Server) error {
	for _, mode := range s.Modes {
		if mode == emptyIsNull || mode != "" && mode == t.Refuses {
			return Refusal("sql_mode has %s in the connection, in which statements on the tables mean something else; take it out "+
				"of the URL, or out of sql_mode on the server", mode)
		}
	}
	return nil
}

// createKey is the advisory lock of PostgreSQL under which tables are created: without it, one of two that do so at the
// same moment fails in spite of IF NOT EXISTS, and its transaction with it.
const createKey = 0x6c6f636b67656f

// Create creates the tables if look, which finds out whether they are there as they must be, does not find them. It
// looks first, so that a role that may not create tables is no obstacle where they exist.
func (t Tables) Create(ctx context.Context, db *sql.DB, look func() error) error {
	if err := FileOf(db).Check(); err != nil {
		return fmt.Errorf("create the %s tables: %w", t.Of, err)
	}
	if err := t.askModes(ctx, db); err != nil {
		return fmt.Errorf("create the %s tables: %w", t.Of, err)
	}
	err := look()
	if err != nil && t.isIncomplete(err) {
		created := t.create(ctx, db)
		// One of two that create a table at the same moment may fail in spite of IF NOT EXISTS. It is there then.
		if err = look(); err != nil && created != nil {
			err = created
		}
	}
	if err == nil {
		if t.Dialect != SQLite {
			return nil
		}
		if err = FileOf(db).Learn(ctx, db, t.Schema); err != nil {
			err = fmt.Errorf("create the %s tables: %w", t.Of, err)
		}
		return err
	}
	return fmt.Errorf("create the %s tables %s: %w; let somebody who may run\n%s%s", t.Of, t.Names, err, t.DDL, t.Grants)
}

// askModes refuses a connection in which what look finds would mislead.
func (t Tables) askModes(ctx context.Context, db *sql.DB) error {
	if t.Dialect != MySQL {
		return nil
	}
	server, err := t.Ask(ctx, db)
	if err != nil {
		return err
	}
	return t.judgeModes(server)
}

// create runs the DDL: in PostgreSQL in one transaction, which waits for locks for a few seconds at most.
func (t Tables) create(ctx context.Context, db *sql.DB) error {
	statements := strings.Split(t.DDL, ";\n")
	if t.Dialect != Postgres {
		return execAll(ctx, db, statements)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	alone := fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(createKey))
	if err := execAll(ctx, tx, append([]string{"SET LOCAL lock_timeout = '5s'", alone}, statements...)); err != nil {
		return err
	}
	return tx.Commit()
}

func execAll(ctx context.Context, q Executor, statements []string) error {
	for _, text := range statements {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if _, err := q.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// isIncomplete reports whether what was not found may be added by CREATE … IF NOT EXISTS. The row that says which
// version the tables have is made with them.
func (t Tables) isIncomplete(err error) bool {
	return t.IsMissing(err) || errors.Is(err, sql.ErrNoRows)
}

// VersionError refuses tables of another version than that which the program works with.
func (t Tables) VersionError(found, want int64) error {
	if found == want {
		return nil
	}
	return Refusal("the tables %s have version %d, and this program works with version %d; run the migration that "+
		"belongs to it, or the program that belongs to the tables", t.Names, found, want)
}

// Help adds what to do to an error where that is known.
func (t Tables) Help(err error) error {
	switch {
	case err == nil:
		return nil
	case t.IsUnknownDatabase(err):
		return fmt.Errorf("%w; create the database, or name another one", err)
	case errors.Is(err, sql.ErrNoRows):
		return Refusal("the tables %s are not complete; call %s, or run\n%s", t.Names, t.Creator, t.DDL)
	case t.IsMissing(err):
		return fmt.Errorf("%w; the tables of the %ss (%s) are missing or too old: call %s, or run\n%s",
			err, t.Of, t.Names, t.Creator, t.DDL)
	case t.IsDenied(err) && t.Dialect == MySQL: // which says so of a table that is not there, too
		return fmt.Errorf("%w; the role lacks a right, or the tables of the %ss (%s) are missing: let somebody who may run\n%s\n%s",
			err, t.Of, t.Names, t.DDL, t.Grants)
	case t.IsDenied(err):
		return fmt.Errorf("%w; the role lacks a right: let somebody who may run\n%s", err, t.Grants)
	case t.IsPooled(err):
		return fmt.Errorf("%w; a pooler in transaction mode does not keep prepared statements, nor does DISCARD ALL: use "+
			"default_query_exec_mode=exec with pgx, binary_parameters=yes with lib/pq", err)
	case t.IsUnwritable(err):
		return fmt.Errorf("%w; the encoding of the database has no such character: give the %ss a database with UTF8, or keep to "+
			"ASCII in names of nodes and in reasons", err, t.Of)
	case t.IsUnprepared(err):
		return fmt.Errorf("%w; give the pool interpolateParams=true, without which its driver prepares every statement", err)
	case t.Dialect == SQLite && t.Again(err):
		return fmt.Errorf("%w; another connection or process holds %s", err, writer)
	case t.IsReadOnly(err) && t.Dialect == SQLite:
		return fmt.Errorf("%w; %ss write: the file, its folder and the pool must let them", err, t.Of)
	case t.IsReadOnly(err):
		return fmt.Errorf("%w; the server takes no writes: %ss need the primary", err, t.Of)
	}
	return err
}

// SchemaOf returns the schema of a [schema.]name, as it is written; "" if there is none.
func SchemaOf(full string) string {
	if schema, _, has := strings.Cut(full, "."); has {
		return schema
	}
	return ""
}

// SplitName takes a [schema.]name apart. Both have ASCII letters, digits and underscores, most at the most. The schema
// is quoted, with its dot.
func (d Dialect) SplitName(full string, most int) (schema, name string, err error) {
	parts := strings.Split(full, ".")
	for _, part := range parts {
		if !identifier(part, most) || len(parts) > 2 {
			return "", "", fmt.Errorf("table %q; a name, or a schema and a name, of up to %d ASCII letters, digits and "+
				"underscores, not beginning with a digit, is needed", full, most)
		}
	}
	if len(parts) == 2 {
		schema = d.Quote(parts[0]) + "."
	}
	return schema, parts[len(parts)-1], nil
}

func identifier(s string, most int) bool {
	if s == "" || len(s) > most || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// Quote quotes an identifier that needs no escapes.
func (d Dialect) Quote(name string) string {
	if d == MySQL {
		return "`" + name + "`"
	}
	return `"` + name + `"`
}
