// Command flashsale sells a few items to many people at once and proves that it
// sold no item twice and none to anybody twice.
//
//	go run -C examples/sql ./flashsale
//	go run -C examples/sql ./flashsale -unsafe
//	go run -C examples/sql ./flashsale -db postgres://shop:secret@127.0.0.1/shop
//	go run -C examples/sql ./flashsale -store redis://127.0.0.1:6379/0 -db mysql://shop:secret@127.0.0.1/shop
//
// Several instances of an HTTP service take orders: POST /orders?user=7. Each
// instance has its own connections and its own Locker; with "-store memory:"
// they live in this process, with a URL of Redis or PostgreSQL each is a process.
// A load generator sends all requests, every user's twice in a row, as impatient
// people do.
//
// An order is placed under two locks, one of the user and one of the stock, in a
// transaction that is committed while they are held, by a function with a //lock:
// directive (shop.go). With -db postgres://… the locks are in that database, and
// nothing else is needed: nobody gets the locks of an instance before its
// transaction has ended, however long it was paused. Elsewhere the transaction
// begins with the fences of both locks, and an instance that was paused beyond
// its lease cannot write any more. With -unsafe the same reads and writes are
// made without locks (unsafe.go), the way it is usually written first.
//
// The last line of the output is not the service's word: it is counted in the
// tables of the database.
//
//	requests=2000 sold=100 oversold=0 duplicate_orders=0 p50=412ms p99=903ms rps=1893
//
// The exit status is 0 if the sale was fair, 1 if it was not (oversold or
// duplicate_orders is not 0) or could not be held, and 2 for wrong flags.
package main
