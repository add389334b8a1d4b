// Package clause is a stand-in with the types that the checks know.
package clause

type Expression interface{}

type Locking struct{ Strength, Options string }
