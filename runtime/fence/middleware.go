package fence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// Middleware refuses requests whose header Lock-Fence is lower than one that the resource has seen:
//
//	400 Bad Request            the header is malformed, the fence is from the future, or the resource cannot be used
//	412 Precondition Failed    the fence is stale; the response's Lock-Fence is the highest seen
//	428 Precondition Required  the header is missing and Required says that it must be there
//	503 Service Unavailable    the State could not be asked; nothing is known about the fence
//
// The body of each is an application/problem+json object (RFC 9457) with title, status and detail and, of what is
// known, resource, given and highest; fences are text in it, because JSON's numbers are doubles to many readers.
//
// The header is trusted: a client that may send requests may raise the high-water mark of a resource, and so make it
// refuse all holders of the lock. Authentication must therefore come first, and the client must be allowed to write to
// the resource. The upper bits of a fence count the microseconds since 1970. A fence that is further ahead of this
// server's clock than MaxAhead is refused. So a high-water mark that was raised too far refuses the holders for that
// long at most. An operator can end this by [Memory.Reset], [SQL.Reset] or redisfence.Redis.Reset.
//
// The high-water mark is raised before the handler runs, and stays raised if the handler fails: a holder with this
// fence exists.
//
// A request that passes was not stale when it was checked. A request with a higher fence may still overtake it later,
// in the handler. If that matters, check again at the write: in the handler, give the fence of [Received] to [Guard] in
// the transaction, or to redisfence.Redis.Do.
type Middleware struct {
	// State keeps the fences. Defaults to a [Memory] for each handler: enough for one process that never restarts
	// while holders are under way, and with up to [DefaultMax] resources.
	State State
	// Resource names what the request writes to. All requests under one lock should have the same resource, and only
	// they. "" lets the request pass unchecked. Defaults to the path of the URL.
	Resource func(*http.Request) string
	// Required says whether the request must carry a fence. Defaults to all methods but GET, HEAD, OPTIONS and TRACE.
	// What carries a fence is checked in any case.
	Required func(*http.Request) bool
	// MaxAhead is how far a fence may be ahead of this server's clock; beyond it the clock of the lock store, or the
	// fence, is wrong. Defaults to 1 h; negative means no bound, for fences that are not of this module's stores.
	MaxAhead time.Duration
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
	if m.MaxAhead == 0 {
		m.MaxAhead = time.Hour
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
		return 0, &problem{Status: http.StatusBadRequest, Title: "malformed fence", Detail: err.Error(), Resource: shorten(resource)}
	case f == 0 && m.Required(r):
		return 0, &problem{Status: http.StatusPreconditionRequired, Title: "fence required", Resource: shorten(resource),
			Detail: "send the fencing token of the lock that protects this resource as the header " + Header}
	case f == 0:
		return 0, nil
	}
	if err := check(resource, f); err != nil {
		return 0, &problem{Status: http.StatusBadRequest, Title: "unusable resource", Detail: err.Error(), Given: f.String()}
	}
	if ahead := time.Until(issued(f)); m.MaxAhead > 0 && ahead > m.MaxAhead {
		m.Logger.LogAttrs(r.Context(), slog.LevelWarn, "fence from the future, request refused",
			slog.String("resource", resource), slog.String("fence", f.String()), slog.Duration("ahead", ahead))
		return 0, &problem{
			Status: http.StatusBadRequest, Title: "fence from the future", Resource: resource, Given: f.String(),
			Detail: fmt.Sprintf("the fence is of %s, more than %s ahead of this server's clock: send that of the lease as it "+
				"is; if it is, the clock of the lock store or of this server is wrong",
				issued(f).Format(time.RFC3339), m.MaxAhead),
		}
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

// issued returns the moment of a fence's grant on the clock of the lock store, or soon after it: the epoch of a fence
// counts microseconds, and one for each grant where there are more.
func issued(f lockrt.Fence) time.Time {
	return time.UnixMicro(int64(f / lockrt.FenceOf(1))).UTC()
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
