// Package gorm has just as much of gorm as the tests call. It is loaded, never run.
package gorm

import (
	"context"

	"gorm.io/gorm/clause"
)

type DB struct{ Error error }

func Open() (*DB, error) { return nil, nil }

func (db *DB) Begin() *DB                              { return nil }
func (db *DB) Commit() *DB                             { return nil }
func (db *DB) Rollback() *DB                           { return nil }
func (db *DB) Save(v any) *DB                          { return nil }
func (db *DB) Transaction(fc func(tx *DB) error) error { return nil }
func (db *DB) Connection(fc func(tx *DB) error) error  { return nil }

func (db *DB) WithContext(ctx context.Context) *DB         { return nil }
func (db *DB) Exec(sql string, values ...any) *DB          { return nil }
func (db *DB) Raw(sql string, values ...any) *DB           { return nil }
func (db *DB) Scan(dest any) *DB                           { return nil }
func (db *DB) First(dest any, conds ...any) *DB            { return nil }
func (db *DB) Clauses(conds ...clause.Expression) (tx *DB) { return nil }
