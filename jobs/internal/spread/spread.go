// Package spread hashes names. Any few bits of a hash are evenly distributed.
package spread

import "hash/fnv"

// Hash returns the hash of a text. All nodes of a cluster agree on it.
func Hash(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return Mix(h.Sum64())
}

// Mix spreads what FNV leaves in the low bits of the last bytes.
func Mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
