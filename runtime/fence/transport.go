package fence

import (
	"fmt"
	"net/http"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Transport is an http.RoundTripper that sends the fence of the innermost lease in the request's context along, as the
// header Lock-Fence. A request whose context carries a lease that is over is not sent: it fails with an error that
// wraps lockrt.ErrNotHeld, and lockrt.ErrLost if the lease was lost. A header that is there already is left alone.
type Transport struct {
	// Base sends the requests. Defaults to http.DefaultTransport.
	Base http.RoundTripper
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
	if len(req.Header.Values(Header)) > 0 {
		return req, nil
	}
	if lockrt.FromContext(req.Context()) == nil && !t.Required {
		return req, nil
	}
	f, err := FromContext(req.Context())
	if err != nil {
		return nil, err
	}
	fenced := req.Clone(req.Context())
	SetHeader(fenced.Header, f)
	return fenced, nil
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
