package fence

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Transport is an http.RoundTripper that sends the fence of the lease in the request's context, in the header
// Lock-Fence. A request whose context carries a lease that is over is not sent: it fails with an error that wraps
// lockrt.ErrNotHeld, and lockrt.ErrLost if the lease was lost. Nor is one whose context carries leases on several keys,
// none of which Resource names: see [FromContext]. An existing header is not changed.
//
// A request that was redirected to another host, or from https to http, is sent without the fence, even if the caller
// set the header: the fence was meant for the first host. With Required it is not sent.
type Transport struct {
	// Base sends the requests. Defaults to http.DefaultTransport.
	Base http.RoundTripper
	// Resource names the key of the lock that protects what the request writes to, for those whose context carries
	// several leases. Defaults to the path of the URL, as in [Middleware].
	Resource func(*http.Request) string
	// Required makes requests without a lease fail with lockrt.ErrNotHeld. By default they are sent without the header.
	Required bool
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	fenced, err := t.fence(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes it also on errors; there is nothing to add to err
		}
		return nil, fmt.Errorf("%s %s not sent: %w", req.Method, req.URL.Redacted(), err)
	}
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return base.RoundTrip(fenced)
}

// fence returns the request as it is to be sent. The caller's is not changed.
func (t *Transport) fence(req *http.Request) (*http.Request, error) {
	if first := firstOf(req); !sameOrigin(first, req) {
		return t.withoutFence(req)
	}
	if len(req.Header.Values(Header)) > 0 {
		return req, nil
	}
	if lockrt.FromContext(req.Context()) == nil && !t.Required {
		return req, nil
	}
	resource := req.URL.Path
	if t.Resource != nil {
		resource = t.Resource(req)
	}
	f, err := FromContext(req.Context(), resource)
	if err != nil {
		return nil, err
	}
	fenced := req.Clone(req.Context())
	SetHeader(fenced.Header, f)
	return fenced, nil
}

// withoutFence is for a request that a redirect sent elsewhere.
func (t *Transport) withoutFence(req *http.Request) (*http.Request, error) {
	if t.Required {
		return nil, fmt.Errorf("%w: a redirect leads to another host, which must not get the fence; "+
			"send the request to that host in the first place", ErrInvalid)
	}
	if len(req.Header.Values(Header)) == 0 {
		return req, nil
	}
	bare := req.Clone(req.Context())
	bare.Header.Del(Header) // http.Client copies the caller's headers
	return bare, nil
}

// firstOf returns the request that redirects made req of, nil if one of them is not known, and req if there are none.
func firstOf(req *http.Request) *http.Request {
	for req != nil && req.Response != nil {
		req = req.Response.Request
	}
	return req
}

// sameOrigin reports whether what was meant for the host of first may be told to that of req.
func sameOrigin(first, req *http.Request) bool {
	if first == req {
		return true
	}
	return first != nil && strings.EqualFold(hostPort(first.URL), hostPort(req.URL)) &&
		(first.URL.Scheme == req.URL.Scheme || req.URL.Scheme == "https")
}

// hostPort writes the port out, so that it may be left away in one of two that are compared. The port of a plain
// connection is not that of TLS: http://h and https://h are one host.
func hostPort(u *url.URL) string {
	switch port := u.Port(); port {
	case "", "80", "443":
		return u.Hostname()
	default:
		return net.JoinHostPort(u.Hostname(), port)
	}
}

// ResponseError returns a [*StaleError], with the URL as its resource, if resp is the refusal of a stale fence by
// [Middleware], and nil for every other response, whatever its status. It leaves the body to the caller.
func ResponseError(resp *http.Response) error {
	if resp.StatusCode != http.StatusPreconditionFailed || resp.Request == nil {
		return nil
	}
	highest, err := ParseHeader(resp.Header)
	if err != nil || highest == 0 {
		return nil // some other precondition
	}
	given, err := ParseHeader(resp.Request.Header)
	if err != nil || given == 0 {
		return nil
	}
	return &StaleError{Resource: resp.Request.URL.Redacted(), Given: given, Highest: highest}
}
