// Package single limits its pool to one connection, so that all statements share a session.
package single

import "database/sql"

func open(db *sql.DB) error {
	db.SetMaxOpenConns(1)
	_, err := db.Exec("SELECT pg_advisory_lock(1)")
	return err
}
