// Package redistag makes names fit to stand between the braces of a Redis hash tag: what stands there decides about the
// slot of a key in Redis Cluster.
package redistag

import "strings"

var (
	encoder = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")
	decoder = strings.NewReplacer("%25", "%", "%7B", "{", "%7D", "}")
)

// Encode returns a name without braces. Different names have different encodings. An empty name stays empty, and an empty
// tag is none.
func Encode(name string) string {
	if strings.ContainsAny(name, "%{}") {
		return encoder.Replace(name)
	}
	return name
}

// Decode is the inverse of [Encode].
func Decode(text string) string { return decoder.Replace(text) }
