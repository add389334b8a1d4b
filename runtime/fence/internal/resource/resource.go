// Package resource says which names of resources and which fences can be kept exactly, whatever keeps them.
package resource

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// maxName keeps a resource within the keys that all databases can index.
const maxName = 512

// Check refuses what no store of high-water marks can keep exactly.
func Check(name string, f lockrt.Fence) error {
	switch {
	case name == "":
		return errors.New("the resource is empty")
	case len(name) > maxName:
		return fmt.Errorf("the resource is %d bytes long, more than %d; hash the long part", len(name), maxName)
	case !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0:
		return fmt.Errorf("the resource %q is not UTF-8 text without zero bytes", name)
	case f == 0:
		return fmt.Errorf("fence 0 for %q: %w: it is what a nil or missing lease returns", name, lockrt.ErrNotHeld)
	case f > math.MaxInt64:
		return fmt.Errorf("fence %s for %q is not below 2^63; no lease has such a fence", f, name)
	}
	return nil
}
