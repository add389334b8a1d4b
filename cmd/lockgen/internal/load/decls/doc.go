// Package decls type checks the declarations that directives depend on, from source and without function bodies.
//
// Asking the go command for export data would compile the packages, which fails while wrappers are missing and takes
// many seconds with a cold build cache. Declarations are all a signature needs. They can be checked whatever state
// the bodies and the last output are in: wrappers are functions and methods, so no signature can depend on one.
// Type errors are therefore dropped here. A type that could not be resolved is copied as it was written, and package
// directive reports the placeholders and parameters for which that is not enough.
package decls
