// Package sql holds the examples that need a database. They are a module of their own, so that nobody who imports package
// lockrt has the drivers in the list of modules.
package sql
