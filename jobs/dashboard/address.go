package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// All pages lie in one directory: "", "jobs", "job?name=…", "run?id=…". So links between them are relative and hold
// whatever stands in front, the handler need not know its own path, and cookies set without a path belong to the
// dashboard alone.

// pageName returns the last element of the path. It is not ok where the dashboard was asked for without its last slash,
// so that relative links would go astray; then it returns the address to go to.
func pageName(r *http.Request) (name string, ok bool) {
	p := r.URL.Path
	if p == "" {
		asked, _, _ := strings.Cut(r.RequestURI, "?")
		if strings.HasSuffix(asked, "/") { // a router has taken the slash off, too
			return "", true
		}
		return path.Base(asked) + "/", false
	}
	name = p[strings.LastIndexByte(p, '/')+1:]
	if r.Method != http.MethodPost && mountedWithoutSlash(r.Pattern, name) { // the overview answers no POST
		return name + "/", false
	}
	return name, true
}

// mountedWithoutSlash reports whether a router says that it has the dashboard at this one path alone: its pages lie beside that. A
// pattern with a wildcard at its end, however the router writes it, is for all of them.
func mountedWithoutSlash(pattern, name string) bool {
	last := pattern[strings.LastIndexByte(pattern, '/')+1:]
	return name != "" && last == name && !strings.ContainsAny(last, "{}*:")
}

// address returns the link to a page.
func address(page string, params ...string) string {
	q := url.Values{}
	for i := 0; i < len(params); i += 2 {
		if params[i+1] != "" {
			q.Set(params[i], params[i+1])
		}
	}
	if len(q) == 0 {
		if page == "" {
			return "./"
		}
		return page
	}
	if page == "" {
		page = "./"
	}
	return page + "?" + q.Encode()
}

// redirect sends a relative address, which http.Redirect would complete with a path that the browser may not know.
func redirect(w http.ResponseWriter, status int, address string) {
	w.Header().Set("Location", address)
	w.WriteHeader(status)
}

// ownAddress returns back if it is the address of a page that can be shown, else the overview. What stands before the
// page's name, such as another host, is left out.
func (q *request) ownAddress(back string) string {
	u, err := url.Parse(back)
	if err != nil {
		return "./"
	}
	name := strings.TrimPrefix(u.Path, "./")
	if q.d.routes[name].get == nil {
		return "./"
	}
	return (&url.URL{Path: cmp.Or(name, "./"), RawQuery: u.RawQuery}).String()
}
