// Package gorm has just as much of gorm as the tests call. It is loaded, never run.
package gorm

type DB struct{ Error error }

func (db *DB) Begin() *DB                              { return nil }
func (db *DB) Commit() *DB                             { return nil }
func (db *DB) Rollback() *DB                           { return nil }
func (db *DB) Save(v any) *DB                          { return nil }
func (db *DB) Transaction(fc func(tx *DB) error) error { return nil }
