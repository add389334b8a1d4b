package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/memstore"
)

// Whoever the application has signed in may look; those of its group "ops" may act.
func ExampleHandler() {
	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())
	s, err := jobs.New(locks, jobs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	rebuild := func(context.Context) error { return nil }
	if err := s.Add(jobs.Job{Name: "rebuild-cache", Spec: "*/5 * * * *", Run: rebuild}); err != nil {
		log.Fatal(err)
	}

	authorize := func(r *http.Request) (dashboard.User, error) {
		name, group, ok := session(r)
		switch {
		case !ok:
			return dashboard.User{}, errors.New("not signed in")
		case group == "ops":
			return dashboard.User{Name: name, Role: dashboard.RoleOperator}, nil
		}
		return dashboard.User{Name: name, Role: dashboard.RoleViewer}, nil
	}
	mux := http.NewServeMux()
	mux.Handle("/jobs/", dashboard.Handler(s, dashboard.Config{Title: "Shop", Authorize: authorize}))

	for _, user := range []string{"", "bob", "ada"} {
		r := httptest.NewRequest(http.MethodGet, "/jobs/job?name=rebuild-cache", nil)
		r.Header.Set("User", user)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		page := w.Body.String()
		fmt.Printf("%q: %d, sees the job: %t, may run it: %t\n", user, w.Code,
			strings.Contains(page, "Every 5 minutes"), strings.Contains(page, "Run now"))
	}
	// Output:
	// "": 403, sees the job: false, may run it: false
	// "bob": 200, sees the job: true, may run it: false
	// "ada": 200, sees the job: true, may run it: true
}

// session stands for the sign-in of the application.
func session(r *http.Request) (name, group string, ok bool) {
	name = r.Header.Get("User")
	return name, map[string]string{"ada": "ops"}[name], name != ""
}
