package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

type jobListData struct {
	Search  string
	States  []choice
	Columns []column
	Jobs    []jobRow
	Pager   pager
	Kept    []param // parameters that a search keeps
	Mixed   bool    // the jobs belong to several programs
}

type choice struct {
	Label, Count, Link string
	Chosen             bool
}

type column struct {
	Label, Link string
	Sort        string // "ascending", "descending" or ""
}

type param struct{ Name, Value string }

// jobStates are the filters of the list.
var jobStates = []struct {
	name, label string
	holds       func(jobs.Status) bool
}{
	{"", "all", func(jobs.Status) bool { return true }},
	{"running", "running", func(st jobs.Status) bool { return len(st.Running) > 0 }},
	{"failing", "failing", isFailing},
	{"paused", "paused", isPaused},
	{"missed", "missed ticks", func(st jobs.Status) bool { return st.Missed > 0 }},
	{"orphaned", "without a node", func(st jobs.Status) bool { return st.Orphaned }},
	{"never", "never ran", func(st jobs.Status) bool { return st.Last == nil && len(st.Running) == 0 }},
}

// jobOrders are the columns that the list can be sorted by. Jobs without a value come last in either direction.
var jobOrders = []struct {
	name, label string
	has         func(jobs.Status) bool
	compare     func(a, b jobs.Status) int
}{
	{"name", "Job", nil, func(a, b jobs.Status) int { return strings.Compare(a.Job.Name, b.Job.Name) }},
	{"next", "Next run", func(st jobs.Status) bool { return !st.Next.IsZero() },
		func(a, b jobs.Status) int { return a.Next.Compare(b.Next) }},
	{"outcome", "Last outcome", hasLast, func(a,
		b jobs.Status) int {
		return strings.Compare(string(a.Last.Outcome), string(b.Last.Outcome))
	}},
	{"ended", "Ended", hasLast, func(a, b jobs.Status) int { return a.Last.Ended.Compare(b.Last.Ended) }},
	{"duration", "Took", func(st jobs.Status) bool { return hasLast(st) && !st.Last.Started.IsZero() },
		func(a, b jobs.Status) int { return cmp.Compare(spent(a.Last), spent(b.Last)) }},
	{"node", "Node", hasLast, func(a, b jobs.Status) int { return strings.Compare(a.Last.Node, b.Last.Node) }},
}

func isPaused(st jobs.Status) bool    { return st.Paused != nil }
func isFailing(st jobs.Status) bool   { return st.Last != nil && st.Last.Failed() }
func hasLast(st jobs.Status) bool     { return st.Last != nil }
func spent(r *jobs.Run) time.Duration { return r.Ended.Sub(r.Started) }

func (q *request) jobList() (*view, error) {
	s, err := q.state()
	if err != nil {
		return nil, err
	}
	params := q.r.URL.Query()
	data := jobListData{Search: params.Get("q"), Mixed: mixed(s.Jobs)}
	found := q.searchJobs(s.Jobs, data.Search)
	chosen := q.chooseState(&data, found)
	chosen = q.sortJobs(&data, chosen)
	data.Pager = q.newPager(len(chosen))
	onPage := chosen[data.Pager.First-1 : max(data.Pager.First-1, data.Pager.Last)]
	for _, st := range onPage {
		data.Jobs = append(data.Jobs, q.jobRow(st))
	}
	q.showHolders(onPage, data.Jobs)
	for _, name := range []string{"state", "sort", "dir"} {
		if value := params.Get(name); value != "" {
			data.Kept = append(data.Kept, param{name, value})
		}
	}
	return &view{template: "jobs", Title: "Jobs", Menu: "jobs", Live: true, Data: data}, nil
}

// mixed reports whether several programs share the namespace.
func mixed(all []jobs.Status) bool {
	return slices.ContainsFunc(all, func(st jobs.Status) bool { return st.Program != all[0].Program && !st.Orphaned })
}

// searchJobs finds the jobs that have every word of the search in their name, program, specification or its words.
func (q *request) searchJobs(all []jobs.Status, search string) []jobs.Status {
	terms := strings.Fields(strings.ToLower(search))
	if len(terms) == 0 {
		return slices.Clone(all)
	}
	return where(all, func(st jobs.Status) bool {
		p := q.d.plans.of(st.Info)
		in := strings.ToLower(st.Job.Name + "\n" + p.spec + "\n" + p.words + "\n" + p.zoneName + "\n" + st.Program)
		return !slices.ContainsFunc(terms, func(term string) bool { return !strings.Contains(in, term) })
	})
}

func (q *request) chooseState(data *jobListData, found []jobs.Status) []jobs.Status {
	chosen, asked := found, q.r.URL.Query().Get("state")
	for _, s := range jobStates {
		matching := where(found, s.holds)
		c := choice{Label: s.label, Count: number(len(matching)), Link: q.with("state", s.name, "page", ""),
			Chosen: s.name == asked}
		if data.States = append(data.States, c); c.Chosen {
			chosen = matching
		}
	}
	return chosen
}

func (q *request) sortJobs(data *jobListData, statuses []jobs.Status) []jobs.Status {
	asked, down := q.r.URL.Query().Get("sort"), q.r.URL.Query().Get("dir") == "desc"
	if asked == "" {
		asked = "name"
	}
	for _, order := range jobOrders {
		c := column{Label: order.label, Link: q.with("sort", order.name, "dir", "", "page", "")}
		if order.name == asked {
			c.Sort = "ascending"
			if down {
				c.Sort = "descending"
			} else {
				c.Link = q.with("sort", order.name, "dir", "desc", "page", "")
			}
			slices.SortStableFunc(statuses, func(a, b jobs.Status) int {
				if order.has != nil && order.has(a) != order.has(b) {
					if order.has(a) {
						return -1
					}
					return 1
				}
				if order.has != nil && !order.has(a) {
					return 0
				}
				if down {
					a, b = b, a
				}
				return order.compare(a, b)
			})
		}
		data.Columns = append(data.Columns, c)
	}
	return statuses
}

// showHolders fills in who holds the locks of the jobs, which need not be a run of theirs.
func (q *request) showHolders(statuses []jobs.Status, rows []jobRow) {
	var keys []string
	for _, st := range statuses {
		if len(st.Job.Keys) > 0 {
			keys = append(keys, st.Job.Keys[0])
		}
	}
	held := q.holders(keys)
	for i, st := range statuses {
		if len(st.Job.Keys) == 0 {
			continue
		}
		info, known := held[st.Job.Keys[0]]
		switch {
		case !known && rows[i].Holder == "":
			rows[i].Holder = "unknown"
		case info.Key != "":
			rows[i].Holder, rows[i].Fence = holderName(info), fence(info.Fence)
		}
	}
}
