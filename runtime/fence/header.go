package fence

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Header carries the fence of a request as decimal digits, and in a 412 response the highest that the resource has seen.
const Header = "Lock-Fence"

// SetHeader sets the header to f.
func SetHeader(h http.Header, f lockrt.Fence) { h.Set(Header, f.String()) }

// ParseHeader returns the fence in h, 0 if there is none. Anything but one number from 1 to 2^63-1, written as plain
// digits without leading zeros, is an error that wraps ErrInvalid.
func ParseHeader(h http.Header) (lockrt.Fence, error) {
	values := h.Values(Header)
	switch len(values) {
	case 0:
		return 0, nil
	case 1:
	default:
		return 0, fmt.Errorf("%w: header %s is there %d times; send it once", ErrInvalid, Header, len(values))
	}
	n, err := strconv.ParseUint(values[0], 10, 63)
	// One spelling per number: proxies and logs may compare the text.
	if f := lockrt.Fence(n); err == nil && n > 0 && f.String() == values[0] {
		return f, nil
	}
	return 0, fmt.Errorf("%w: header %s is %q; send the fence of the lease as decimal digits, from 1 to 2^63-1, without sign or leading zeros",
		ErrInvalid, Header, shorten(values[0]))
}

// shorten keeps what a client sent, and long keys, from filling logs and responses.
func shorten(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
