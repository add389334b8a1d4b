package dashboard

import (
	"log/slog"
	"net/http"
)

// Config configures [Handler]. The zero value shows everything to everybody who can reach it and lets nobody change
// anything.
type Config struct {
	// Authorize says who sends a request: as a rule by the session, header or certificate that the application
	// checks everywhere else. Its error, or a role that is neither RoleViewer nor RoleOperator, refuses the request;
	// the error is logged and not shown. Nil means that everybody may look and nobody may act.
	Authorize func(*http.Request) (User, error)
	// Title stands in the head of every page, such as the name of the cluster. Defaults to "Jobs".
	Title string
	// Redact is given every text that jobs or people have written, and returns what may be shown of it. Field is
	// "error", "reason" or "payload". Defaults to showing all.
	Redact func(field, value string) string
	// Logger receives every action with its user, every refused request, and pages that could not be made.
	// Defaults to slog.Default().
	Logger *slog.Logger
}

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
