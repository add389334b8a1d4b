// Package gen writes the wrappers of functions with a //lock: directive.
//
// It works in five steps. Each returns values; only the last one touches a file:
//
//	scan    the patterns become folders, and the bytes of their files say which could hold a directive. Most runs
//	        over most repositories end here, before the go command is started.
//	load    the declarations of the packages that are left (no function bodies) are type checked from source, without
//	        lockgen's own output: first with what the folders of the module say, where that decides everything; the
//	        others with the files and imports that the go command names.
//	plan    each directive is bound to its function by package directive, functions are grouped by the file that
//	        their wrapper goes to, and every name that generated code introduces is chosen.
//	render  the plan of a file becomes its text.
//	write   what differs from the disk is shown ([Check]) or written ([Commit]).
//
// # Why declarations from source
//
// Asking the go command for export data would compile the packages, which fails while wrappers are missing and takes
// many seconds with a cold build cache. Declarations are all a signature needs. They can be checked whatever state
// the bodies and the last output are in: wrappers are functions and methods, so no signature can depend on one.
// Type errors are therefore dropped here. A type that could not be resolved is copied as it was written, and package
// directive reports the placeholders and parameters for which that is not enough.
//
// # Without the go command
//
// Starting it takes longer than all the rest, and longer still where a package imports much. Most functions do not need
// it: their keys read parameters of predeclared types, or fields of types of their own module. So a [lister] reads the
// module's folders and puts empty types in place of the standard library's. Whatever is then unknown, refused or could
// be meant otherwise is looked at again with everything loaded; see [unit.understood] for what has to be certain.
//
// # One output for each set of build constraints
//
// A wrapper must be built exactly when its function is. Functions of files under the same constraint, from the file
// name or from //go:build, share a file that repeats the constraint: lock_gen.go, lock_linux_gen.go,
// lock_gen_test.go. Files that the current platform leaves out are loaded for a platform that includes them, so the
// output is the same wherever lockgen runs.
package gen
