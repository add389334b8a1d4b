// Package directive is the //lock: directive: its grammar, its key templates, the rules that tie both to a function's
// signature, and the problems that can be found in them. The generator and the linter both build on it, so that they
// cannot disagree about what a directive means.
//
// The package is pure. Text, syntax trees and type information go in; values and positioned problems come out. It
// loads nothing, reads no file and prints nothing.
//
// The steps, each usable on its own:
//
//	Find   all directives of a file, parsed, and everything that looks like a directive but is not one
//	Parse  the //lock: lines of one comment (Find calls it)
//	Bind   a parsed directive against its function: wrapper name, roles of the parameters, where the locker
//	       comes from, what each placeholder reads and how it is encoded, collisions, constants
//
// Every step returns all the problems it can find, never only the first, and goes on with what it understood. A
// result that comes with problems is for finding more problems, not for generating code.
//
// # Choices the grammar leaves open
//
// A value whose braces never close ends at the next option instead of swallowing the rest of the line, so that one
// forgotten brace is one problem. Trailing white space is ignored because gofmt removes it.
//
// A named string, integer or bool is encoded by its value even if it has a MarshalText method; |text asks for the
// method. The value is exact and cannot fail, the method may do anything.
//
// key=@Const names the text of a lock that has no parameters: the constant is emitted as a reference, so it cannot be
// a template.
//
// The i-th lockrt.Fence parameter and the i-th *lockrt.Lease parameter belong to the i-th key as written; the two
// types are counted apart, so a function with one key may take both.
package directive
