// Package docs knows where the documentation of the checks is read by people.
package docs

import "strings"

// Checks is the folder of the checks.
const Checks = "https://github.com/lockgen/lockgen/blob/main/cmd/locklint/lockcheck/checks/"

// URL is the page of a check.
func URL(id string) string { return Checks + strings.ToLower(id) + "/doc.md" }
