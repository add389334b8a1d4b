// Package rowlocks has the locks that people build in a SQL database by hand, and how each of them fails, beside this
// library's in the same situation. Its tests run them on real servers: that a recipe fails is what they check.
//
//	go test -C examples/sql -v ./rowlocks
//
// They are here to be read. Do not use the recipes.
package rowlocks
