package lockrt

import "fmt"

// NilPointer is the error of generated code if path, such as s.locks, leads through a nil pointer. It wraps
// [ErrOptions], and also [ErrKey]: neither a Locker nor a value for a key can be read through a nil pointer.
func NilPointer(path string) error {
	return fmt.Errorf("%w: %s cannot be read, it is nil or a pointer on the way to it is (%w)", ErrOptions, path, ErrKey)
}
