// Package pgxlisten lets processes ring each other through PostgreSQL when a lock of package sqlstore changes hands, so
// that those who wait poll only now and then. It also guards transactions of pgx itself.
//
//	import (
//		_ "github.com/jackc/pgx/v5/stdlib"
//		_ "github.com/lockgen/lockgen/runtime/sqlstore/pgxlisten"
//	)
//
//	locks, err := lockrt.Open(ctx, "postgres://app:PASSWORD@db.example/app", lockrt.Config{})
//
// or, with pools of the application's own:
//
//	store := sqlstore.New(stdlib.OpenDBFromPool(pool), sqlstore.Config{Listener: pgxlisten.FromPool(pool)})
//
// A Locker that listens has a connection of its own for that. What it hears is a hint to look: nothing is lost where a
// ring is, a lock is found free a little later. Each process makes sure that it hears itself; behind a pooler in
// transaction mode, where LISTEN succeeds and nothing ever comes, it says so in the log and polls. Give such a process
// the address of the server itself, see [New].
package pgxlisten
