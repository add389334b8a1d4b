package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// schemaVersion is the version of the tables that this code works with. Columns that are added do not change it.
const schemaVersion = 1

// DDL returns the statements that create the tables, for migration tools. Each ends with a semicolon and a line break.
// The Dialect must be set. For tables of the default name they stand in the folder ddl of this package, in a file for each
// dialect that has the version of the tables in its name.
func DDL(cfg Config) (string, error) {
	t, err := cfg.tables()
	if err != nil {
		return "", fmt.Errorf("write the DDL of the job tables: %w", err)
	}
	return t.DDL, nil
}

// Grants returns the statements that give a role exactly the rights that jobs need, "" for a database without roles.
// The Dialect must be set. The role is called the_role in them, in MySQL the_user.
func Grants(cfg Config) (string, error) {
	t, err := cfg.tables()
	if err != nil {
		return "", fmt.Errorf("write the grants of the job tables: %w", err)
	}
	return t.Grants, nil
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
	return t.Create(ctx, db, func() error { return t.look(ctx, db) })
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
	}
	if err := t.VersionError(version, schemaVersion); err != nil {
		return err
	}
	t.isHome = ""
	home := `SELECT ` + t.home + ` FROM {oneoff} WHERE namespace = ? AND id = ?`
	if err := t.query(ctx, q, home, homeKey, func(rows *sql.Rows) error { return rows.Scan(&t.isHome) }); err != nil {
		return err
	}
	if t.isHome == "" {
		return sql.ErrNoRows
	}
	for _, table := range []*table{runTable, recordTable, failureTable, noticeTable, oneOffTable, nodeTable} {
		columns := join(table.columns)
		if table == runTable {
			columns += ", completed"
		}
		text := `SELECT ` + columns + ` FROM {` + table.name + `} WHERE 1 = 0`
		if err := t.query(ctx, q, text, nil, func(*sql.Rows) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}
