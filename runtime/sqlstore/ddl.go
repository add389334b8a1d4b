package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// DDL returns the statements that create the tables, for migration tools; each ends with a semicolon and a line break.
// The Dialect must be set. For tables of the default name they stand in the folder ddl of this package, in a file for each
// dialect that has the version of the tables in its name.
func DDL(cfg Config) (string, error) {
	_, t, err := cfg.resolve()
	if err != nil {
		return "", fmt.Errorf("write the DDL of the lock tables: %w", err)
	}
	return t.Tables.DDL, nil
}

// Grants returns the statement that gives a role the rights that locks need, and no more; "" where the database knows
// no roles. The Dialect must be set. It names the role the_role, in MySQL the_user.
func Grants(cfg Config) (string, error) {
	_, t, err := cfg.resolve()
	if err != nil {
		return "", fmt.Errorf("write the grants of the lock tables: %w", err)
	}
	return t.Tables.Grants, nil
}

// CreateTables creates the tables of a [Config] if they are not there; the Dialect may be left out. It looks first, so
// that a role that may not create tables is no obstacle where they exist. Several processes may call it at the same
// time. The error has the statements to run.
func CreateTables(ctx context.Context, db *sql.DB, cfg Config) error {
	t, err := cfg.detect(ctx, db)
	if err != nil {
		return fmt.Errorf("create the lock tables: %w", err)
	}
	return t.Create(ctx, db, func() error {
		_, err := t.look(ctx, db)
		return err
	})
}

// detect is the statements, of a dialect that the server is asked for if it is not known.
func (c Config) detect(ctx context.Context, q querier) (*tables, error) {
	if c.Dialect == "" {
		found, err := sqldialect.Detect(ctx, q)
		if err != nil {
			return nil, err
		}
		c.Dialect = Dialect(found)
	}
	_, t, err := c.resolve()
	return t, err
}

// look finds out whether the tables are there, as they must be, and returns the server's clock.
func (t *tables) look(ctx context.Context, q querier) (clockPair, error) {
	version, clock, err := t.schema(ctx, q)
	if err != nil {
		return clock, err
	}
	if err := t.VersionError(version, schemaVersion); err != nil {
		return clock, err
	}
	if err := t.query(ctx, q, readSQL, args{"names": [][]byte{{}}}, func(*sql.Rows) error { return nil }); err != nil {
		return clock, err
	}
	return clock, t.query(ctx, q, lookSQL, nil, func(*sql.Rows) error { return nil })
}
