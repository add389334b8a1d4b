// Package orphans has had directives.
package orphans

func plain() {}

// A file of that name that somebody has written, without the header, is no output.
