package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

var jobNames = regexp.MustCompile(`<td data-label="Job"><a class="name" href="job\?name=([^"]*)"`)

func listed(t *testing.T, h http.Handler, address string) (names []string) {
	t.Helper()
	w := get(h, address)
	expect(t, w, 200)
	for _, m := range jobNames.FindAllStringSubmatch(w.Body.String(), -1) {
		names = append(names, m[1])
	}
	return names
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
		"jobs":                                {"job-00000", "job-00049", 50},
		"jobs?page=2":                         {"job-00050", "job-00099", 50},
		"jobs?page=200":                       {"job-09950", "job-09999", 50},
		"jobs?page=201":                       {"job-09950", "job-09999", 50},
		"jobs?page=-1":                        {"job-00000", "job-00049", 50},
		"jobs?page=x":                         {"job-00000", "job-00049", 50},
		"jobs?q=0777":                         {"job-00777", "job-07779", 11},
		"jobs?q=JOB+every+5+minutes+09999":    {"job-09999", "job-09999", 1},
		"jobs?q=nothing":                      {"", "", 0},
		"jobs?dir=desc":                       {"job-09999", "job-09950", 50},
		"jobs?sort=next":                      {"job-09999", "job-09950", 50},
		"jobs?sort=duration&dir=desc":         {"job-09999", "job-09852", 50},
		"jobs?sort=duration&dir=desc&page=67": {"job-00099", "job-00023", 50},
		"jobs?sort=duration":                  {"job-00000", "job-00147", 50},
		"jobs?sort=outcome&dir=desc":          {"job-00000", "job-00048", 50},
		"jobs?state=paused":                   {"job-00007", "job-09007", 10},
		"jobs?state=failing":                  {"job-00000", "job-09900", 34},
		"jobs?state=failing&q=job-09&sort=name&dir=desc": {"job-09900", "job-09000", 4},
		"jobs?state=unknown&sort=unknown":                {"job-00000", "job-00049", 50},
	} {
		names := listed(t, h, address)
		if len(names) != want.n || want.n > 0 && (names[0] != want.first || names[len(names)-1] != want.last) {
			t.Errorf("%s: %d jobs, %q, want %+v", address, len(names), names, want)
		}
	}
	w := get(h, "jobs?page=3&sort=next&q=job")
	expect(t, w, 200, "101 to 150 of 10000", "page 3 of 200", "failing <span>34</span>", `aria-sort="ascending"`,
		"page=4&amp;q=job&amp;sort=next", "page=200", `name="sort" value="next"`, `value="job"`)
	if size := w.Body.Len(); size > 100_000 {
		t.Errorf("the page has %d bytes", size)
	}
	expect(t, get(h, ""), 200, "10\u202f000", "job-09999")
}

// TestJobList_valuesFirst: where there is nothing to sort by, jobs come last in both directions.
func TestJobList_valuesFirst(t *testing.T) {
	h := manyJobs().serve(Config{})
	for _, dir := range []string{"", "&dir=desc"} {
		for _, name := range listed(t, h, "jobs?sort=ended&page=1"+dir) {
			var i int
			if fmt.Sscanf(name, "job-%d", &i); i%3 != 0 {
				t.Errorf("%s has not run and is listed first", name)
			}
		}
	}
}

// TestJobList_links: a page leads to its neighbours, and another choice to the first page.
func TestJobList_links(t *testing.T) {
	h := manyJobs().serve(Config{})
	for page, want := range map[string]map[string]string{
		"1":   {"prev": "", "next": "2"},
		"7":   {"prev": "6", "next": "8"},
		"200": {"prev": "199", "next": ""},
	} {
		body := get(h, "jobs?q=job&page="+page).Body.String()
		for rel, to := range want {
			if link := `href="jobs?page=` + to + `&amp;q=job" rel="` + rel +
				`"`; strings.Contains(body, `rel="`+rel+`"`) != (to != "") ||
				to != "" && !strings.Contains(body, link) {
				t.Errorf("page %s: the link %s does not lead to page %q", page, rel, to)
			}
		}
		for _, choice := range regexp.MustCompile(`href="(jobs\?[^"]*(?:state|sort)=[^"]*)"`).FindAllStringSubmatch(body,
			-1) {
			if strings.Contains(choice[1], "page=") {
				t.Errorf("page %s: %s stays on it", page, choice[1])
			}
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

func TestOnceList_many(t *testing.T) {
	f := busyFake()
	for i := range onceShown - 1 {
		f.waiting = append(f.waiting, jobs.Once{ID: fmt.Sprint(i), Handler: "mail", At: noon})
	}
	expect(t, get(f.serve(Config{}), "once"), 200, "The first 500 that wait")
}
