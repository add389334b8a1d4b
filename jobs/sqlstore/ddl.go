package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// schemaVersion is the version of the tables that this code works with. Columns that are added do not change it.
const schemaVersion = 1

// DDL returns the statements that create the tables, for migration tools. Each ends with a semicolon and a line break.
// The Dialect must be set. The folder ddl of this package has the same statements.
func DDL(cfg Config) (string, error) {
	t, err := cfg.tables()
	if err != nil {
		return "", fmt.Errorf("write the DDL of the job tables: %w", err)
	}
	return t.text(t.ddl), nil
}

// Grants returns the statements that give a role exactly the rights that jobs need, "" for a database without roles.
// The Dialect must be set. The role is called the_role in them, in MySQL the_user.
func Grants(cfg Config) (string, error) {
	t, err := cfg.tables()
	if err != nil {
		return "", fmt.Errorf("write the grants of the job tables: %w", err)
	}
	return t.grants(), nil
}

func (t *tables) grants() string {
	var b strings.Builder
	if t.Dialect == sqldialect.SQLite {
		return ""
	}
	if t.Dialect == sqldialect.Postgres && t.schema != "" {
		b.WriteString("GRANT USAGE ON SCHEMA " + strings.TrimSuffix(t.schema, ".") + " TO the_role;\n")
	}
	for _, name := range tableNames {
		b.WriteString("GRANT SELECT, INSERT, UPDATE, DELETE ON " + t.quoted(t.schema, name) + " TO " + t.role + ";\n")
	}
	return b.String()
}

// CreateTables creates the tables of a [Config] if they do not exist. The Dialect may be empty. It looks first, so a
// role that may not create tables succeeds if they exist. Several processes may call it at the same time. The error has
// the statements to run.
func CreateTables(ctx context.Context, db *sql.DB, cfg Config) error {
	t, err := cfg.detect(ctx, db)
	if err != nil {
		return fmt.Errorf("create the job tables: %w", err)
	}
	err = t.look(ctx, db)
	if err == nil || !t.isIncomplete(err) {
		return t.wrapCreate(err)
	}
	created := t.create(ctx, db)
	// One of two that create a table at the same moment may fail in spite of IF NOT EXISTS. It is there then.
	if err = t.look(ctx, db); err == nil {
		return nil
	}
	if created != nil {
		err = created
	}
	return t.wrapCreate(err)
}

func (t *tables) wrapCreate(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("create the job tables %s: %w; let somebody who may run\n%s%s", t.shown, err, t.text(t.ddl),
		t.grants())
}

// createKey is the advisory lock of PostgreSQL under which tables are created, the one of the lock tables.
const createKey = 0x6c6f636b67656f

// create runs the DDL: in PostgreSQL in one transaction, which waits for nobody longer than a few seconds.
func (t *tables) create(ctx context.Context, db *sql.DB) error {
	if t.Dialect != sqldialect.Postgres {
		return t.runAll(ctx, db)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	alone := fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", int64(createKey))
	for _, text := range []string{"SET LOCAL lock_timeout = '5s'", alone} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	if err := t.runAll(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (t *tables) runAll(ctx context.Context, q querier) error {
	for text := range strings.SplitSeq(t.text(t.ddl), ";\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if _, err := q.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// look finds out whether the tables are there, as they must be.
func (t *tables) look(ctx context.Context, q querier) error {
	found, version := false, int64(0)
	err := t.query(ctx, q, `SELECT `+join(jobColumns)+` FROM {job} WHERE namespace = ? AND name = ?`,
		[]any{[]byte{}, []byte("schema")}, func(rows *sql.Rows) error {
			var r jobRow
			found = true
			_, err := scanJob(rows, &r)
			version = r.cursor
			return err
		})
	switch {
	case err != nil:
		return err
	case !found:
		return sql.ErrNoRows
	case version != schemaVersion:
		return sqldialect.Refusal("the tables %s have version %d, and this program works with version %d; run the migration "+
			"that belongs to it, or the program that belongs to the tables", t.shown, version, schemaVersion)
	}
	for _, table := range []*table{runTable, recordTable, failureTable, noticeTable, oneOffTable, nodeTable} {
		text := `SELECT ` + join(table.columns) + ` FROM {` + table.name + `} WHERE 1 = 0`
		if err := t.query(ctx, q, text, nil, func(*sql.Rows) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// isIncomplete reports whether what look found missing CREATE … IF NOT EXISTS may add.
func (t *tables) isIncomplete(err error) bool {
	return t.IsMissing(err) || errors.Is(err, sql.ErrNoRows)
}
