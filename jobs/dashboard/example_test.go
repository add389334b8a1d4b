package dashboard_test

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
	_ "github.com/lockgen/lockgen/jobs/memstore"
	_ "github.com/lockgen/lockgen/jobs/redisstore"
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
		r := httptest.NewRequest(http.MethodGet, "/jobs/", nil)
		r.Header.Set("User", user)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Printf("%q: %d, may act: %t\n", user, w.Code, strings.Contains(w.Body.String(), user+", operator"))
	}
	// Output:
	// "": 403, may act: false
	// "bob": 200, may act: false
	// "ada": 200, may act: true
}

// session stands for the sign-in of the application.
func session(r *http.Request) (name, group string, ok bool) {
	name = r.Header.Get("User")
	return name, map[string]string{"ada": "ops"}[name], name != ""
}

// A browser asks for name and password where Authorize returns a Challenge. Serve it over TLS: the password is sent
// with every request.
func ExampleChallenge() {
	want := sha256.Sum256([]byte(os.Getenv("JOBS_PASSWORD")))

	authorize := func(r *http.Request) (dashboard.User, error) {
		name, password, ok := r.BasicAuth()
		got := sha256.Sum256([]byte(password))
		if !ok || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return dashboard.User{}, dashboard.Challenge(`Basic realm="jobs", charset="UTF-8"`)
		}
		return dashboard.User{Name: name, Role: dashboard.RoleOperator}, nil
	}

	locks, err := lockrt.New(memstore.New(), lockrt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())
	s, err := jobs.New(locks, jobs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	handler := dashboard.Handler(s, dashboard.Config{Authorize: authorize})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	// Output:
	// 401 Basic realm="jobs", charset="UTF-8"
}

// A process that only serves the dashboard: a scheduler without jobs that is never run sees the whole cluster.
func ExampleHandler_onlyDashboard() {
	locks, err := lockrt.Open(context.Background(), "redis://127.0.0.1:6379/0", lockrt.Config{Namespace: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	s, err := jobs.New(locks, jobs.Config{})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8081", dashboard.Handler(s, dashboard.Config{Title: "Shop"})))
}
