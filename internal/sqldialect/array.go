package sqldialect

import (
	"encoding/hex"
	"strings"
)

// Array is a PostgreSQL array as text, which every driver can pass and the statement casts.
func Array(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = `"` + escape.Replace(item) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// Hex are elements of a PostgreSQL array of bytea.
func Hex[T ~string | ~[]byte](items []T) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = `\x` + hex.EncodeToString([]byte(item))
	}
	return texts
}
