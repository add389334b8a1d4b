package lockrt

// IfUndefinedRunLockgenV3 ties generated code to this package. Every lock_gen.go refers to it. A change of what
// wrappers rely on renames it. Code that was generated for another version then does not compile, and the compiler's
// message contains the remedy: run lockgen again, in the version of this package.
const IfUndefinedRunLockgenV3 = true
