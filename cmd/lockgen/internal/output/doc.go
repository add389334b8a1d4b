// Package output knows what lockgen's files are called and how they begin: to write them, and not to read them as
// sources.
//
// A wrapper must be built exactly when its function is. Functions of files under the same constraint, from the file
// name or from //go:build, share a file that repeats the constraint: lock_gen.go, lock_linux_gen.go,
// lock_gen_test.go. A [Set] is what they have in common.
package output
