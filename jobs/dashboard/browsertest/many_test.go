package browsertest

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/dashboard"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

// TestManyJobs pages through ten thousand jobs and finds one of them.
func TestManyJobs(t *testing.T) {
	t.Parallel()
	c := jobstest.New(t)
	n := c.Node(jobs.Config{DrainTimeout: -1}, 0)
	for i := range 10_000 {
		n.MustAdd(jobs.Job{Name: fmt.Sprintf("job-%05d", i), Spec: "0 0 29 2 *", Run: jobstest.Sleep(0)})
	}
	n.Start()
	handler := dashboard.Handler(n.Scheduler, dashboard.Config{Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(handler)
	t.Cleanup(func() { server.Close(); c.Stop() })
	b := newTab(t, server.URL+"/")
	b.open("jobs")
	b.awaitText(".count", "1 to 50 of 10\u202f000")
	if rows := ask[int](b, `document.querySelectorAll("#list tbody tr").length`); rows != 50 {
		t.Errorf("%d rows on a page", rows)
	}
	b.click(".pager a", "Last")
	b.awaitText("#list", "job-09999")
	b.click(".pager a", "Previous")
	b.awaitText(".count", "9\u202f901 to 9\u202f950 of 10\u202f000")
	b.shoot("jobs-many")
	b.fill("#q", "0777")
	b.click(".search button", "Search")
	b.awaitText(".count", "11 jobs found")
	found := ask[string](b, `[...document.querySelectorAll("#list .name")].map(e => e.innerText).join(" ")`)
	if !strings.HasPrefix(found, "job-00777 ") || !strings.HasSuffix(found, " job-07779") {
		t.Errorf("found %s", found)
	}
	b.click("#list a", "job-00777")
	b.awaitText("h1", "job-00777")
}
