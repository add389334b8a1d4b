package dashboard

import (
	"log/slog"
	"net/http"
)

// Config configures [Handler]. With the zero value everybody who can reach the dashboard may see everything, and nobody
// may change anything.
type Config struct {
	// Authorize returns the user who sends a request, usually from the session, header or certificate that the
	// application checks everywhere else. Its error refuses the request, and so does a role that is neither RoleViewer
	// nor RoleOperator. The error is logged and not shown. If it wraps a [Challenge], the browser asks for a sign-in.
	// Nil means that everybody may look and nobody may act.
	Authorize func(*http.Request) (User, error)
	// TrustedOrigins are the origins of the dashboard, such as "https://ops.example.com", behind a proxy that changes
	// the Host of requests. Forms sent from these origins are accepted. Forms sent from any other origin than the
	// request's Host are refused. A proxy that keeps Host needs none. An entry is compared with what browsers send: there are no
	// wildcards, and a host with other letters is written in ASCII, such as "https://xn--bcher-kva.example" for
	// "https://bücher.example". Defaults to none.
	TrustedOrigins []string
	// Title is the heading of every page, such as the name of the cluster. Defaults to "Jobs".
	Title string
	// Redact is called with every text that jobs or people have written, and returns the text that may be shown. Field
	// is "error", "reason" or "payload". A text for which it panics is hidden. Defaults to showing all.
	Redact func(field, value string) string
	// Logger receives every action with its user, every refused request (see Challenge for the one exception), and pages
	// that could not be rendered. Defaults to slog.Default().
	Logger *slog.Logger
}

// Challenge is an error of Config.Authorize that makes browsers ask for a user name and a password: the request is
// answered with status 401 and the challenge in its WWW-Authenticate header, such as `Basic realm="jobs"`. Returned as it is
// to a request without an Authorization header it is not logged, since every sign-in begins so. A sign-in that failed is
// logged, and so is an error that wraps a Challenge.
type Challenge string

func (c Challenge) Error() string { return "not signed in; the browser is asked for: " + string(c) }

// User is who sends a request.
type User struct {
	Name string // recorded with what the user does
	Role Role
}

// Role is what a user may do.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // sees everything, changes nothing
	RoleOperator Role = "operator" // also runs, pauses, resumes and cancels jobs, and breaks locks
)

func (c Config) withDefaults() Config {
	if c.Title == "" {
		c.Title = "Jobs"
	}
	if c.Redact == nil {
		c.Redact = func(_, value string) string { return value }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}
