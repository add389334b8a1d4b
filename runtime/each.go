package lockrt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// KeyOptions is one of the keys of [Locker.AcquireEach], with its Options.Mode and Options.Permits.
type KeyOptions struct {
	Key     string
	Mode    Mode
	Permits int
}

// AcquireEach is [Locker.AcquireAll] for keys that are not all held in the same way, such as one for writing and one
// for reading. The Mode and the Permits of o must be zero: each key has its own. The other options are common to all.
// The keys are taken in sorted order whatever their modes, so callers with the same keys cannot deadlock. A key that is
// named for reading and for writing is locked once, for writing. One that is named with permits and in another way is
// an error that wraps ErrOptions.
func (l *Locker) AcquireEach(ctx context.Context, keys []KeyOptions, o Options) (Leases, error) {
	if o.Mode != Write || o.Permits != 0 {
		return nil, fmt.Errorf("acquire %d locks: %w: Mode is %s and Permits %d for all; set them in the KeyOptions",
			len(keys), ErrOptions, o.Mode, o.Permits)
	}
	return l.acquireEach(ctx, "AcquireEach", slices.Clone(keys), o)
}

// sortKeys sorts keys in place and leaves each of them once, with the stronger of its modes.
func sortKeys(keys []KeyOptions) ([]KeyOptions, error) {
	slices.SortFunc(keys, func(a, b KeyOptions) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Permits, b.Permits))
	})
	once := keys[:1]
	for _, key := range keys[1:] {
		last := once[len(once)-1]
		switch {
		case key.Key != last.Key:
			once = append(once, key)
		case key.Permits != last.Permits:
			return nil, fmt.Errorf("%w: the key %s is named with Permits %d and with %d; one key has one number of them, or none",
				ErrOptions, quote(key.Key), last.Permits, key.Permits)
		}
		// Write comes first of what is named twice, and is the stronger.
	}
	return once, nil
}
