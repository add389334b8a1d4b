package fence

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Middleware refuses requests whose header Lock-Fence is lower than one that the resource has seen:
//
//	400 Bad Request            the header is malformed, or the resource cannot be used
//	412 Precondition Failed    the fence is stale; the response's Lock-Fence is the highest seen
//	428 Precondition Required  the header is missing and Required says that it must be there
//	503 Service Unavailable    the State could not be asked; nothing is known about the fence
//
// The body of each is an application/problem+json object (RFC 9457) with title, status and detail and, of what is
// known, resource, given and highest; fences are text in it, because JSON's numbers are doubles to many readers.
//
// A request that passes was not stale when it was checked. Nothing stops it from being overtaken after that, in the
// handler, by one with a higher fence. Where that matters, check again where the write is: in the handler, give the
// fence of [Received] to [Guard] in the transaction, or to [Redis.Do].
type Middleware struct {
	// State keeps the fences. Defaults to a [Memory] for each handler: enough for one process that never restarts
	// while holders are under way.
	State State
	// Resource names what the request writes to. All requests under one lock should have the same resource, and only
	// they. "" lets the request pass unchecked. Defaults to the path of the URL.
	Resource func(*http.Request) string
	// Required says whether the request must carry a fence. Defaults to all methods but GET, HEAD, OPTIONS and TRACE.
	// What carries a fence is checked in any case.
	Required func(*http.Request) bool
	// Logger is told when the State could not be asked. Defaults to slog.Default().
	Logger *slog.Logger
}

// Wrap returns a handler that passes on to next what is not refused.
func (m Middleware) Wrap(next http.Handler) http.Handler {
	if m.State == nil {
		m.State = new(Memory)
	}
	if m.Resource == nil {
		m.Resource = func(r *http.Request) string { return r.URL.Path }
	}
	if m.Required == nil {
		m.Required = writes
	}
	if m.Logger == nil {
		m.Logger = slog.Default()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, refusal := m.judge(r)
		switch {
		case refusal != nil:
			refusal.write(w)
		case f != 0:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), receivedKey{}, f)))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

type receivedKey struct{}

// Received returns the fence of the request that ctx belongs to, as [Middleware] has checked it, and 0 where there was
// none or it was not checked.
func Received(ctx context.Context) lockrt.Fence {
	f, _ := ctx.Value(receivedKey{}).(lockrt.Fence)
	return f
}

func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return false
	}
	return true
}

// judge returns the fence that passed, 0 if there was none to check, or why the request is refused.
func (m Middleware) judge(r *http.Request) (lockrt.Fence, *problem) {
	resource := m.Resource(r)
	if resource == "" {
		return 0, nil
	}
	f, err := ParseHeader(r.Header)
	switch {
	case err != nil:
		return 0, &problem{Status: http.StatusBadRequest, Title: "malformed fence", Detail: err.Error(), Resource: resource}
	case f == 0 && m.Required(r):
		return 0, &problem{Status: http.StatusPreconditionRequired, Title: "fence required", Resource: resource,
			Detail: "send the fencing token of the lock that protects this resource as the header " + Header}
	case f == 0:
		return 0, nil
	}
	if err := check(resource, f); err != nil {
		return 0, &problem{Status: http.StatusBadRequest, Title: "unusable resource", Detail: err.Error(), Given: f.String()}
	}
	err = m.State.Check(r.Context(), resource, f)
	var stale *StaleError
	switch {
	case err == nil:
		return f, nil
	case errors.As(err, &stale):
		return 0, &problem{Status: http.StatusPreconditionFailed, Title: "stale fence", Detail: err.Error(), Resource: resource,
			Given: f.String(), Highest: stale.Highest.String()}
	case errors.Is(err, ErrStale): // a State of somebody else's that does not say which is the highest
		return 0, &problem{Status: http.StatusPreconditionFailed, Title: "stale fence", Detail: err.Error(), Resource: resource, Given: f.String()}
	}
	if r.Context().Err() == nil {
		m.Logger.LogAttrs(r.Context(), slog.LevelError, "fence of a request not checked, request refused",
			slog.String("resource", resource), slog.String("fence", f.String()), slog.Any("error", err))
	}
	return 0, &problem{Status: http.StatusServiceUnavailable, Title: "fence not checked", Resource: resource, Given: f.String(),
		Detail: "the record of fences could not be asked; the request was not carried out and may be sent again"}
}

// problem is a refusal, as RFC 9457 writes it.
type problem struct {
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Resource string `json:"resource,omitempty"`
	Given    string `json:"given,omitempty"`
	Highest  string `json:"highest,omitempty"`
}

func (p *problem) write(w http.ResponseWriter) {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // it holds texts and a number
	}
	if p.Highest != "" {
		w.Header().Set(Header, p.Highest)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client has gone if this fails
}
