// Package files is how the commands of this module touch the sources of others: they read regular files of bounded size
// below one folder, keep line ends and byte order marks of what they rewrite, and print names so that a terminal or a
// log shows them as they are.
package files
