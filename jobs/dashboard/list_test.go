package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

var jobNames = regexp.MustCompile(`<td data-label="Job"><a class="name" href="job\?name=([^"]*)"`)

// page gets a page that has to be there.
func page(t *testing.T, h http.Handler, address string) (body string) {
	t.Helper()
	w := get(h, address)
	expect(t, w, 200)
	return w.Body.String()
}

// jobsOn returns the names of the jobs on a page.
func jobsOn(body string) (names []string) {
	for _, m := range jobNames.FindAllStringSubmatch(body, -1) {
		names = append(names, m[1])
	}
	return names
}

func listed(t *testing.T, h http.Handler, address string) (names []string) {
	t.Helper()
	return jobsOn(page(t, h, address))
}

// manyJobs are ten thousand, of which some are in each state.
func manyJobs() *fake {
	f := &fake{}
	for i := range 10_000 {
		st := jobs.Status{Info: jobs.Info{Job: jobs.Job{Name: fmt.Sprintf("job-%05d", i), Spec: "*/5 * * * *", Run: nothing}},
			Next: noon.Add(time.Duration(10_000-i) * time.Second)}
		if i%3 == 0 {
			r := jobs.Run{Outcome: jobs.OutcomeOK, Node: fmt.Sprint("node-", i%7), Started: noon,
				Ended: noon.Add(time.Duration(i) * time.Millisecond)}
			if i%100 == 0 {
				r.Outcome = jobs.OutcomeTimeout
			}
			st.Last = &r
		}
		if i%1000 == 7 {
			st.Paused = &jobs.Pause{Author: "ada"}
		}
		f.statuses = append(f.statuses, st)
	}
	return f
}

func TestJobList_tenThousand(t *testing.T) {
	h := manyJobs().serve(Config{})
	for address, want := range map[string]struct {
		first, last string
		n           int
	}{
		"jobs":                                           {"job-00000", "job-00049", 50},
		"jobs?from=job-00049":                            {"job-00050", "job-00099", 50},
		"jobs?from=job-00100&back=1":                     {"job-00050", "job-00099", 50},
		"jobs?back=1":                                    {"job-09950", "job-09999", 50},
		"jobs?from=job-09999":                            {"", "", 0},
		"jobs?q=0777":                                    {"job-00777", "job-07779", 11},
		"jobs?q=JOB+every+5+minutes+09999":               {"job-09999", "job-09999", 1},
		"jobs?q=nothing":                                 {"", "", 0},
		"jobs?dir=desc":                                  {"job-09999", "job-09950", 50},
		"jobs?dir=desc&from=job-09950":                   {"job-09949", "job-09900", 50},
		"jobs?dir=desc&from=job-09949&back=1":            {"job-09999", "job-09950", 50},
		"jobs?dir=desc&back=1":                           {"job-00049", "job-00000", 50},
		"jobs?sort=next":                                 {"job-00000", "job-00049", 50}, // too many to sort them
		"jobs?sort=next&dir=desc&from=job-00049":         {"job-00050", "job-00099", 50},
		"jobs?q=-09&sort=next":                           {"job-09999", "job-09950", 50},
		"jobs?q=-09&sort=next&page=20":                   {"job-09049", "job-09000", 50},
		"jobs?q=-09&sort=next&page=21":                   {"job-09049", "job-09000", 50},
		"jobs?q=-09&sort=next&page=x":                    {"job-09999", "job-09950", 50},
		"jobs?q=-09&sort=duration&dir=desc":              {"job-09999", "job-09852", 50},
		"jobs?q=-09&sort=outcome&dir=desc":               {"job-09000", "job-09900", 50},
		"jobs?state=paused":                              {"job-00007", "job-09007", 10},
		"jobs?state=failing":                             {"job-00000", "job-09900", 34},
		"jobs?state=failing&q=job-09&sort=name&dir=desc": {"job-09900", "job-09000", 4},
		"jobs?state=unknown&sort=unknown":                {"job-00000", "job-00049", 50},
	} {
		names := listed(t, h, address)
		if len(names) != want.n || want.n > 0 && (names[0] != want.first || address != "jobs?q=-09&sort=outcome&dir=desc" &&
			names[len(names)-1] != want.last) {
			t.Errorf("%s: %d jobs, %q, want %+v", address, len(names), names, want)
		}
	}
	w := get(h, "jobs?from=job-00099")
	expect(t, w, 200, "101 to 150 of 10\u202f000", "failing <span>34</span>", `aria-sort="ascending"`)
	if size := w.Body.Len(); size > 100_000 {
		t.Errorf("the page has %d bytes", size)
	}
	expect(t, get(h, "jobs?dir=desc&from=job-09900"), 200, "101 to 150 of 10\u202f000", `aria-sort="descending"`)
	expect(t, get(h, "jobs?from=job-09999"), 200, "No job on this page of the list", `href="jobs?">First page`)
	expect(t, get(h, "jobs?q=0777"), 200, "11 jobs found")
	expect(t, get(h, "jobs?q=077"), 200, "50 jobs on this page", "q=077", `rel="next"`)
	expect(t, get(h, "jobs?sort=next"), 200, "They are sorted by name", `aria-sort="ascending"><a href="jobs?sort=name">Job`)
	w = get(h, "jobs?page=3&sort=next&q=-09")
	expect(t, w, 200, "101 to 150 of 1\u202f000", "page 3 of 20", "page=4&amp;q=-09&amp;sort=next", `name="sort" value="next"`, `value="-09"`)
	expect(t, get(h, ""), 200, "10\u202f000", "With so many jobs some are always due")
}

// TestJobList_cost: a page asks for the jobs that it shows.
func TestJobList_cost(t *testing.T) {
	for _, page := range []string{"", "jobs", "jobs?q=0777", "jobs?state=failing", "jobs?from=job-00049", "runs", "locks", "one-off"} {
		f := manyJobs()
		get(f.serve(Config{}), page)
		if n := f.count("all"); n > 0 {
			t.Errorf("%q asks for all jobs %d times", page, n)
		}
	}
}

// TestJobList_valuesFirst: where there is nothing to sort by, jobs come last in both directions.
func TestJobList_valuesFirst(t *testing.T) {
	h := manyJobs().serve(Config{})
	for _, dir := range []string{"", "&dir=desc"} {
		for _, name := range listed(t, h, "jobs?q=-09&sort=ended&page=1"+dir) {
			var i int
			if fmt.Sscanf(name, "job-%d", &i); i%3 != 0 {
				t.Errorf("%s has not run and is listed first", name)
			}
		}
	}
}

var pagerLink = regexp.MustCompile(`<a href="([^"]*)"(?: rel="(?:next|prev)")?>(First|Previous|Next|Last)</a>`)

// TestJobList_links: a page leads to its neighbours, up and down, and another choice to the first page.
func TestJobList_links(t *testing.T) {
	f := manyJobs()
	f.statuses = f.statuses[:1250]
	h := f.serve(Config{})
	to := func(body, label string) string {
		for _, m := range pagerLink.FindAllStringSubmatch(body, -1) {
			if m[2] == label {
				return strings.ReplaceAll(m[1], "&amp;", "&")
			}
		}
		return ""
	}
	for _, from := range []string{"jobs", "jobs?dir=desc", "jobs?q=-00", "jobs?q=-00&dir=desc"} {
		all := []string{}
		var first, body, last string
		for at := from; at != ""; at = to(body, "Next") {
			if body = page(t, h, at); at != from && to(body, "Previous") == "" {
				t.Fatalf("%s has no link back", at)
			}
			if at == from {
				first = body
			}
			all, last = append(all, jobsOn(body)...), at
		}
		if want := map[bool]int{true: 1000, false: 1250}[strings.Contains(from, "q=")]; len(all) != want {
			t.Errorf("%s and what follows has %d jobs, want %d", from, len(all), want)
		}
		if sorted := slices.IsSorted(all); sorted == strings.Contains(from, "desc") {
			t.Errorf("%s is sorted: %t", from, sorted)
		}
		if got := listed(t, h, to(first, "Last")); !slices.Equal(got, jobsOn(body)) {
			t.Errorf("%s: Last leads to %q", from, got)
		}
		back := page(t, h, to(body, "Previous"))
		if got := listed(t, h, to(back, "Next")); !slices.Equal(got, jobsOn(body)) {
			t.Errorf("%s: back and forth leads to %q", last, got)
		}
		if got := listed(t, h, to(body, "First")); !slices.Equal(got, jobsOn(first)) {
			t.Errorf("%s: First leads to %q", last, got)
		}
	}
	body := get(h, "jobs?q=job&from=job-00049&page=2").Body.String()
	for _, choice := range regexp.MustCompile(`href="(jobs\?[^"]*(?:state|sort)=[^"]*)"`).FindAllStringSubmatch(body, -1) {
		if strings.Contains(choice[1], "page=") || strings.Contains(choice[1], "from=") {
			t.Errorf("%s stays on the page", choice[1])
		}
	}
}

func TestJobList_search(t *testing.T) {
	h := busyFake().serve(Config{})
	for q, want := range map[string]string{
		"vienna": "report", "VIENNA+every": "report", "every+5": "index", "%40hourly": "carts", "o+r": "carts foreign report",
	} {
		if got := strings.Join(listed(t, h, "jobs?q="+q), " "); got != want {
			t.Errorf("%s finds %q, want %q", q, got, want)
		}
	}
}

func TestJobList_searchTooLong(t *testing.T) {
	expect(t, get(busyFake().serve(Config{}), "jobs?q="+strings.Repeat("e+", 101)), 400, "The search is too long")
}

// Of an address that is longer than any page needs nothing is repeated.
func TestHandler_addressTooLong(t *testing.T) {
	res := get(busyFake().serve(Config{}), "jobs?from="+strings.Repeat("nobody", maxAddress/6))
	expect(t, res, 414, "The address is too long")
	if strings.Contains(res.Body.String(), "nobody") {
		t.Error("the page repeats the address")
	}
}

func TestOnceList_many(t *testing.T) {
	f := busyFake()
	for i := range oneOffsShown - 1 {
		f.waiting = append(f.waiting, jobs.OneOff{ID: fmt.Sprint(i), Handler: "mail", At: noon})
	}
	expect(t, get(f.serve(Config{}), "one-off"), 200, "The first 500 that wait")
}
