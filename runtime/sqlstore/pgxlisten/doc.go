// Package pgxlisten lets processes notify each other through PostgreSQL when a lock of package sqlstore changes hands.
// Waiters then poll only rarely. It also guards transactions of pgx itself.
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
// A Locker that listens has a connection of its own for that. A notification is only a hint to ask: if one is lost, a
// free lock is found a little later. Each process checks that it receives its own notifications. Behind a pooler in
// transaction mode LISTEN succeeds and no notification arrives; the process then logs that and polls. Give such a
// process the address of the server itself, see [New].
package pgxlisten
