// Package gen writes the wrappers of functions with a //lock: directive. Each step returns values; only the last one
// touches a file:
//
//	load    package load turns packages into functions with directives, and package clash finds what keeps them from
//	        being generated together.
//	render  functions are grouped by the file that their wrapper goes to, and package render writes its text.
//	write   what differs from the disk is shown ([Check]) or written ([Commit]).
package gen
