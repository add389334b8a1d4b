// Package load turns packages into functions with directives. It writes nothing. It works in three steps:
//
//	scan    the patterns become folders, and the bytes of their files say which could hold a directive. Most runs
//	        over most repositories end here, before the go command is started.
//	load    the declarations of the packages that are left (no function bodies) are type checked from source, without
//	        lockgen's own output: first with what the folders of the module say, where that decides everything; the
//	        others with the files and imports that the go command names.
//	bind    each directive is bound to its function by package directive.
//
// # Without the go command
//
// Starting it takes longer than all the rest, and longer still where a package imports much. Most functions do not need
// it: their keys read parameters of predeclared types, or fields of types of their own module. So a [lister] reads the
// module's folders and puts empty types in place of the standard library's. Whatever is then unknown, refused or could
// be meant otherwise is looked at again with everything loaded; see [understood] for what has to be certain.
//
// # Platforms
//
// Files that the current platform leaves out are loaded for a platform that includes them, so the output is the same
// wherever lockgen runs.
package load
