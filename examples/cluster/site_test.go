package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/jobs/dashboard"
)

func TestAuthorize_onlyHere(t *testing.T) {
	for _, test := range []struct {
		host, remote string
		role         dashboard.Role
	}{
		{"127.0.0.1:8080", "127.0.0.1:5000", dashboard.RoleOperator},
		{"localhost:8080", "[::1]:5000", dashboard.RoleOperator},
		{"[::1]:8080", "[::1]:5000", dashboard.RoleOperator},
		{"evil.example:8080", "127.0.0.1:5000", dashboard.RoleViewer}, // a name that points here
		{"127.0.0.1:8080", "192.0.2.7:5000", dashboard.RoleViewer},
		{"cluster.example", "192.0.2.7:5000", dashboard.RoleViewer},
	} {
		r := httptest.NewRequest("GET", "/jobs/", nil)
		r.Host, r.RemoteAddr = test.host, test.remote
		if user, err := authorize(r); err != nil || user.Role != test.role {
			t.Errorf("%+v: %+v, %v", test, user, err)
		}
	}
}

func TestCommand_dashboard(t *testing.T) {
	c := startCommand(t)
	url := c.await(`dashboard: +(\S+)`)[1]
	c.await(`rebuildIndex .* ok$`)
	for page, texts := range map[string][]string{
		"":     {"node-1", "node-3", "alive", "lockgen cluster"},
		"jobs": {"rebuildIndex", "Every 2 seconds", "settle"},
	} {
		body := get(t, url+page)
		for _, text := range texts {
			if !strings.Contains(body, text) {
				t.Errorf("%q does not show %q:\n%s", page, text, body)
			}
		}
	}
}
