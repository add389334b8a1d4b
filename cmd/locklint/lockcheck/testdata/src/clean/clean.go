// Package clean has nothing to do with locks.
package clean

import "strings"

func Up(s string) string { return strings.ToUpper(s) }
