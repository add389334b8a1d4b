// Command pitfalls runs the locks that people build with Redis by hand, lets each
// fail in the way it fails in production, and then runs the same scenario with
// wrappers that lockgen generated.
//
//	go run ./examples/pitfalls
//	go run ./examples/pitfalls -redis redis://127.0.0.1:6379/0
//	go run ./examples/pitfalls -only GETSET -storm 0
//
// The recipes are in the folder recipes, a file each, with the story of what goes
// wrong. Nothing is left to chance: the scenarios hold clients up at exactly the
// command before which the others have to come, and wait for events and not for
// lengths of time. Without -redis a redis-server of its own is started.
//
// Every row names the check of locklint that finds the mistake in the recipe's file:
//
//	RECIPE               SCENARIO                CHECK   BY HAND AND WITH LOCKGEN
//	SETNX, then EXPIRE   crash between the two   LL2005  FAILS  the lock has no expiry and no holder …
//	                                                     safe   the lease ends by itself, and B is next
//
// After that, five ways to wait for a lock are measured beside a queue. The database locks of the articles, such as FOR
// UPDATE on a row, are in examples/sql/rowlocks, as the last lines of the output say.
//
// The exit status is 0 if every recipe failed and every wrapper was safe, 1 if not
// or if the example could not run, and 2 for wrong flags.
package main
