package dashboard

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const contentSecurityPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets what every answer carries.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// originHost is what browsers write between the scheme of an origin and its end.
var originHost = regexp.MustCompile(`^([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?$`)

var errOrigin = errors.New("browsers send a scheme, a host without wildcards and in ASCII (xn--…), and perhaps a port up to 65535")

// asBrowsersSay writes an origin as browsers do in their header: in lower case, without the port that its scheme has anyway, and
// without a slash behind it.
func asBrowsersSay(origin string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(origin))
	if err != nil {
		return "", err
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	_, err = strconv.ParseUint(cmp.Or(u.Port(), "0"), 10, 16)
	if err != nil || !originHost.MatchString(host) || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" {
		return "", errOrigin
	}
	switch {
	case scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	case scheme == "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return scheme + "://" + host, nil
}

// authorize finds out who asks and refuses who may not.
func (q *request) authorize(act bool) error {
	if q.d.cfg.Authorize == nil {
		if act {
			return q.refuse(nil, "This dashboard is read-only",
				"Nobody can change anything here, because the program that serves it does not say who may.",
				"Set Authorize in the Config of dashboard.Handler, and give operators the role operator.")
		}
		q.user.Role = RoleViewer
		return nil
	}
	user, err := q.d.cfg.Authorize(q.r)
	if err == nil && user.Role != RoleViewer && user.Role != RoleOperator {
		err = errors.New("Authorize returned the role " + quote(string(user.Role)) + ", which is none")
	}
	var challenge Challenge
	if errors.As(err, &challenge) {
		q.w.Header().Set("WWW-Authenticate", string(challenge))
		p := &problem{Status: http.StatusUnauthorized, Title: "Please sign in",
			Text:   "The program that serves this dashboard asks who you are.",
			Advice: "Load the page again to be asked for your name and password."}
		if err != error(challenge) || q.r.Header.Get("Authorization") != "" { // browsers come without a password first
			q.logRefusal(err, p.Title)
		}
		return p
	}
	if err != nil {
		return q.refuseEntry(err)
	}
	q.user = user
	if act && user.Role != RoleOperator {
		return q.refuse(nil, "You may look, but not act", "You are signed in as "+quote(user.Name)+" with the role viewer.",
			"Ask those who run this program for the role operator.")
	}
	return nil
}

func (q *request) refuseEntry(err error) error {
	return q.refuse(err, "You may not see this", "The program that serves this dashboard did not let you in.",
		"Sign in to it, or ask those who run it for the role viewer or operator.")
}

// mayEnter is authorize, which refuses everybody while what the program does to find out panics.
func (q *request) mayEnter(act bool) error {
	err := caught(func() error { return q.authorize(act) })
	if abort(err); errors.As(err, new(*crash)) {
		q.user = User{}
		return q.refuseEntry(err)
	}
	return err
}

var errNoHost = errors.New("the request does not say which host it is for, so that its origin cannot be compared")

// sameOrigin refuses what another site's page has had sent. Without a host every origin without one, as of a sandbox, would
// be the same.
func (d *dashboard) sameOrigin(r *http.Request) error {
	if r.Method == http.MethodPost && r.Host == "" && r.Header.Get("Origin") != "" {
		return errNoHost
	}
	return d.cross.Check(r)
}

// refuseOrigin says what was compared with what, since behind a proxy it is not what the user sees.
func (q *request) refuseOrigin(err error) *problem {
	origin, site, host := q.r.Header.Get("Origin"), q.r.Header.Get("Sec-Fetch-Site"), q.r.Host
	text, advice := "The browser says that the form was sent by a page of another site: header Sec-Fetch-Site is "+
		quote(site)+". So it may not be what you wanted.", "Open the dashboard itself and do it there."
	if site == "" {
		text = "The form was sent by a page of " + quote(origin) + " (header Origin), but to " + quote(host) +
			" (header Host). These must be the same, or it may not be what you wanted."
		advice = "If you did it here, a proxy in front changes Host: let it pass Host on, or put " + quote(origin) +
			" into Config.TrustedOrigins of the dashboard."
	}
	if site != "" && origin != "" {
		text += " Header Origin is " + quote(origin) + ", header Host is " + quote(host) + "."
		advice = "Open the dashboard itself and do it there. If " + quote(origin) +
			" is meant to use it, put that into Config.TrustedOrigins of the dashboard."
	}
	return q.refuse(err, "Request from another site refused", text, advice)
}

func (q *request) refuse(err error, title, text, advice string) *problem {
	q.logRefusal(err, title)
	return &problem{Status: http.StatusForbidden, Title: title, Text: text, Advice: advice}
}

func (q *request) logRefusal(err error, why string) {
	q.d.cfg.Logger.LogAttrs(q.ctx, slog.LevelWarn, "dashboard request refused", slog.String("why", why),
		slog.String("method", q.r.Method), slog.String("page", q.name), slog.String("user", q.user.Name),
		slog.String("remote", q.r.RemoteAddr), slog.String("host", q.r.Host), slog.String("origin", q.r.Header.Get("Origin")),
		slog.Any("error", err))
}

// operator reports whether the user may act.
func (q *request) operator() bool {
	return q.d.cfg.Authorize != nil && q.user.Role == RoleOperator
}

// quote is for texts in sentences. It keeps them in one line and to a readable length.
func quote(s string) string {
	const most = 120
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return "“" + strings.Join(strings.Fields(s), " ") + "”"
}
