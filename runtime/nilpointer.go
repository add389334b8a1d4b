package lockrt

import "fmt"

// NilPointer is what generated code returns where path, such as s.locks, leads through a nil pointer. It wraps
// [ErrOptions], and [ErrKey] too: behind a nil pointer there is neither a Locker nor a value for a key.
func NilPointer(path string) error {
	return fmt.Errorf("%w: %s cannot be read, it is nil or a pointer on the way to it is (%w)", ErrOptions, path, ErrKey)
}
