package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
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
			r := jobs.Run{Outcome: jobs.OutcomeOK, Node: fmt.Sprint("node-", i%7), Started: noon, Ended: noon.Add(time.Duration(i) * time.Millisecond)}
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

// TestCache_oneAsks: many look at once, the store is asked once.
func TestCache_oneAsks(t *testing.T) {
	f := busyFake()
	f.block = make(chan struct{})
	h := f.serve(Config{})
	var looking sync.WaitGroup
	for range 20 {
		looking.Go(func() {
			if w := get(h, "jobs"); w.Code != 200 || !strings.Contains(w.Body.String(), "report") {
				t.Errorf("%d\n%s", w.Code, w.Body)
			}
		})
	}
	for f.count("status") == 0 {
		time.Sleep(time.Millisecond)
	}
	close(f.block)
	looking.Wait()
	// One that came late may have found the answer too old on a machine that stands still for a second.
	if n := f.count("status"); n > 2 {
		t.Errorf("asked %d times", n)
	}
}
