package etcdstore

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

const (
	// mostParts is how many operations servers take in one transaction unless they are told otherwise.
	mostParts = 128
	// mostBytes bounds what names and values take in one. Servers take requests of 1.5 MiB unless they are told
	// otherwise.
	mostBytes = 512 << 10
	// leastParts is how many operations every server has to take: that many read what a reader or a permit finds.
	leastParts = 4
)

// fit is how many of n parts go into one transaction, at least one. size is what a part takes.
func (s *session) fit(n int, size func(part int) int) int {
	room := mostBytes
	for i := range min(n, s.partsTaken()) {
		if room -= size(i); room < 0 {
			return max(i, 1)
		}
	}
	return min(n, s.partsTaken())
}

// partsTaken is how many operations the servers take in one transaction, as far as is known.
func (s *session) partsTaken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts
}

// fewer reports whether a transaction of n parts was refused because it has too many, and one with less of them may pass.
// From then on no transaction has so many.
func (s *session) fewer(n int, err error) bool {
	if n < 2 || !isTooMuch(err) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = min(s.parts, n/2)
	return true
}

// isTooMuch reports whether servers refuse a request for its size alone.
func isTooMuch(err error) bool {
	return errors.Is(err, rpctypes.ErrTooManyOps) || errors.Is(err, rpctypes.ErrRequestTooLarge)
}
