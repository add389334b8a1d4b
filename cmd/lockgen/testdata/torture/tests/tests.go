// Package tests has directives in test files.
package tests

type Thing struct{ ID int }
