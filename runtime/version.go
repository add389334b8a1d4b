package lockrt

// IfUndefinedRunLockgenV3 ties generated code to this package: every lock_gen.go refers to it, and a change of what
// wrappers rely on renames it. Code that was generated for another version then fails to compile with a message that
// holds the remedy: run lockgen (of the same version as this package) again.
const IfUndefinedRunLockgenV3 = true
