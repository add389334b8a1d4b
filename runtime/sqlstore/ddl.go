package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// DDL returns the statements that create the tables, for migration tools; each ends with a semicolon and a line break.
// The Dialect must be set. They stand in the folder ddl of this package too.
func DDL(cfg Config) (string, error) {
	_, t, err := cfg.resolve()
	if err != nil {
		return "", fmt.Errorf("write the DDL of the lock tables: %w", err)
	}
	return t.ddlText(), nil
}

// Grants returns the statement that gives a role the rights that locks need, and no more; "" where the database knows
// no roles. The Dialect must be set. It names the role the_role, in MySQL the_user.
func Grants(cfg Config) (string, error) {
	_, t, err := cfg.resolve()
	if err != nil {
		return "", fmt.Errorf("write the grants of the lock tables: %w", err)
	}
	return t.names.Replace(t.grants), nil
}

func (t *tables) ddlText() string { return t.names.Replace(t.ddl) }

// CreateTables creates the tables of a [Config] if they are not there; the Dialect may be left out. It looks first, so
// that a role that may not create tables is no obstacle where they exist. Several processes may call it at the same
// time. The error has the statements to run.
func CreateTables(ctx context.Context, db *sql.DB, cfg Config) error {
	if cfg.Dialect == "" {
		var err error
		if cfg.Dialect, err = detect(ctx, db); err != nil {
			return fmt.Errorf("create the lock tables: %w", err)
		}
	}
	_, t, err := cfg.resolve()
	if err != nil {
		return fmt.Errorf("create the lock tables: %w", err)
	}
	_, err = t.look(ctx, db)
	if err == nil || !t.isMissing(err) && !errors.Is(err, sql.ErrNoRows) {
		return wrapCreate(t, err)
	}
	created := t.create(ctx, db)
	// One of two that create a table at the same moment may fail in spite of IF NOT EXISTS. It is there then.
	if _, err = t.look(ctx, db); err == nil {
		return nil
	}
	if created != nil {
		err = created
	}
	return wrapCreate(t, err)
}

func wrapCreate(t *tables, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("create the lock tables %s: %w; let somebody who may run\n%s%s",
		t.shown, err, t.ddlText(), t.names.Replace(t.grants))
}

// createKey is the advisory lock of PostgreSQL under which tables are created.
const createKey = 0x6c6f636b67656f

// create runs the DDL: in PostgreSQL in one transaction, which waits for locks for a few seconds at most.
func (t *tables) create(ctx context.Context, db *sql.DB) error {
	if t.name != Postgres {
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
	for text := range strings.SplitSeq(t.ddlText(), ";\n") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if _, err := q.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// look finds out whether the tables are there, as they must be, and returns the server's clock.
func (t *tables) look(ctx context.Context, q querier) (clockPair, error) {
	version, clock, err := t.schema(ctx, q)
	if err != nil {
		return clock, err
	}
	if err := t.versionError(version); err != nil {
		return clock, err
	}
	if err := t.query(ctx, q, readSQL, args{"names": [][]byte{{}}}, func(*sql.Rows) error { return nil }); err != nil {
		return clock, err
	}
	return clock, t.query(ctx, q, lookSQL, nil, func(*sql.Rows) error { return nil })
}

// versionError refuses tables of another version.
func (t *tables) versionError(version int64) error {
	if version == schemaVersion {
		return nil
	}
	return refusal("the tables %s have version %d, and this program works with version %d; run the migration that "+
		"belongs to it, or the program that belongs to the tables", t.shown, version, schemaVersion)
}

// detect asks the server which dialect it speaks.
func detect(ctx context.Context, q querier) (Dialect, error) {
	var version string
	rows, err := q.QueryContext(ctx, "SELECT version()")
	if err == nil {
		err = scanOne(rows, &version)
	}
	switch {
	case err == nil && (strings.HasPrefix(version, "PostgreSQL ") || strings.Contains(version, "CockroachDB")):
		return Postgres, nil
	case err == nil && version != "" && version[0] >= '0' && version[0] <= '9':
		return MySQL, nil // "10.11.6-MariaDB" and "8.0.36" carry no name that both have
	case err == nil:
		return "", refusal("the server calls itself %q; set Config.Dialect if it speaks one of postgres, mysql and sqlite",
			version)
	case ctx.Err() != nil:
		return "", err
	}
	rows, other := q.QueryContext(ctx, "SELECT sqlite_version()")
	if other == nil {
		other = scanOne(rows, &version)
	}
	if other != nil {
		return "", fmt.Errorf("ask which database it is: %w", errors.Join(err, other))
	}
	return SQLite, nil
}
