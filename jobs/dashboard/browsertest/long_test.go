package browsertest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
	"github.com/lockgen/lockgen/jobs/jobstest"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// unbroken is a name of n bytes that has no place where it may be broken.
func unbroken(n int) string { return strings.Repeat("W", n) }

// TestScreens_longNames fits names as long as they may be into every width, with what is to be pressed beside them.
func TestScreens_longNames(t *testing.T) {
	t.Parallel()
	c := jobstest.New(t)
	n := c.Node(jobs.Config{DrainTimeout: -1}, 0)
	long := unbroken(100)
	n.MustAdd(jobs.Job{Name: long, Spec: "0 0 29 2 *", Run: jobstest.Sleep(0)})
	n.MustAdd(jobs.Job{Name: "shop/" + long, Spec: "0 0 29 2 *", Run: jobstest.Sleep(0)})
	if err := n.AddHandler(jobs.Handler{Name: long, Run: func(context.Context, string, []byte) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	n.Start()
	cfg := operator
	cfg.Logger = slog.New(slog.DiscardHandler)
	server := httptest.NewServer(dashboard.Handler(n.Scheduler, cfg))
	t.Cleanup(func() { server.Close(); c.Stop() })
	for _, id := range []string{"welcome-42", unbroken(128), unbroken(200)} {
		if err := n.At(t.Context(), long, id, time.Now().Add(time.Hour), []byte(strings.Repeat(id, 20))); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"order:42", unbroken(135)} {
		if _, err := n.Locker().Acquire(t.Context(), key, lockrt.Options{TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	b := newTab(t, server.URL+"/")
	for _, s := range []screen{
		{"one-off", "one-off", "#list", "welcome-42"},
		{"withdraw", "withdraw?id=" + unbroken(200), ".confirm", "WWW"},
		{"locks", "locks", "#list", "order:42"},
		{"break", "break?key=" + unbroken(135), ".confirm", "WWW"},
		{"overview", "", "#nodes", "alive"},
		{"jobs", "jobs", "#list", "WWW"},
		{"job", "job?name=" + long, "h1", "WWW"},
		{"runs", "runs", "h1", "Runs"},
	} {
		b.open(s.page)
		b.awaitText(s.selector, s.text)
		for _, width := range []int64{320, 768, 1000, 1280, 1600} {
			b.sized(width, "light")
			b.await(fmt.Sprintf(`document.documentElement.clientWidth === %d`, width))
			b.within("long-" + s.name + fmt.Sprintf("-%d", width))
		}
	}
}

// within looks whether all of the page, and what is to be pressed in it, is on the screen. It takes a picture.
func (b *tab) within(name string) {
	b.t.Helper()
	if over := ask[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		b.t.Errorf("%s scrolls sideways by %d px", name, over)
	}
	if off := ask[string](b, `[...document.querySelectorAll("main a, main button")].filter(
		e => e.getBoundingClientRect().right > document.documentElement.clientWidth).map(e => e.outerHTML).join("\n")`); off != "" {
		b.t.Errorf("%s: off the screen: %s", name, off)
	}
	b.shoot(name)
}
