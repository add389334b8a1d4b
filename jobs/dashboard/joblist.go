package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

type jobListData struct {
	Search  string
	States  []choice
	Columns []column
	Jobs    []jobRow
	Pager   pager
	Count   string
	TooMany bool    // jobs to sort them by anything but their names
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
	state jobs.JobState
	label string
}{
	{jobs.StateAny, "all"}, {jobs.StateRunning, "running"}, {jobs.StateFailing, "failing"}, {jobs.StatePaused, "paused"},
	{jobs.StateMissed, "missed ticks"}, {jobs.StateOrphaned, "without a node"}, {jobs.StateNever, "never ran"},
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

func hasLast(st jobs.Status) bool     { return st.Last != nil }
func spent(r *jobs.Run) time.Duration { return r.Ended.Sub(r.Started) }

func (q *request) jobList() (*view, error) {
	params := q.r.URL.Query()
	data := jobListData{Search: params.Get("q")}
	query := jobs.JobQuery{Search: data.Search, State: q.chosenState()}
	var (
		t    *totals
		read jobsRead
	)
	err := inParallel(
		func() (err error) { t, err = q.totals(); return err },
		func() (err error) { read, err = q.readJobs(query); return err },
	)
	if errors.Is(err, jobs.ErrSearch) {
		return nil, &problem{Status: http.StatusBadRequest, Title: "The search is too long",
			Text: "It may have ten words, of 200 bytes in all."}
	}
	if err != nil {
		return nil, err
	}
	data.States, data.Columns = q.stateChoices(t), q.columns()
	onPage := q.showJobs(&data, read, t)
	data.Mixed = mixed(onPage, t.Nodes)
	held := q.firstHolders(onPage)
	for _, st := range onPage {
		row := q.jobRow(st)
		row.showHolder(st, held)
		data.Jobs = append(data.Jobs, row)
	}
	for _, name := range []string{"state", "sort", "dir"} {
		if value := params.Get(name); value != "" {
			data.Kept = append(data.Kept, param{name, value})
		}
	}
	return &view{template: "jobs", Title: "Jobs", Menu: "jobs", Live: true, Data: data}, nil
}

// mixed reports whether several programs share the namespace.
func mixed(some []jobs.Status, nodes []jobs.Node) bool {
	programs := map[string]bool{}
	for _, st := range some {
		programs[st.Program] = programs[st.Program] || !st.Orphaned
	}
	for _, n := range nodes {
		programs[n.Program] = true
	}
	maps.DeleteFunc(programs, func(_ string, lives bool) bool { return !lives })
	return len(programs) > 1
}

// chosenState is the state that is asked for.
func (q *request) chosenState() jobs.JobState {
	asked := q.r.URL.Query().Get("state")
	for _, s := range jobStates {
		if string(s.state) == asked {
			return s.state
		}
	}
	q.unread = append(q.unread, &problem{Title: "Not understood: " + quote(asked),
		Text: "There is no such state, so all jobs are shown.", Advice: "Choose one of those above the list."})
	return jobs.StateAny
}

// stateChoices are the filters, with how many jobs of the cluster are in each state.
func (q *request) stateChoices(t *totals) (choices []choice) {
	asked := q.r.URL.Query().Get("state")
	for _, s := range jobStates {
		choices = append(choices, choice{Label: s.label, Count: number(t.count(s.state)), Chosen: string(s.state) == asked,
			Link: q.with("state", string(s.state), "page", "", "from", "", "back", "")})
	}
	return choices
}

// order is the column that the list is to be sorted by, and whether the highest come first.
func (q *request) order() (at int, down bool) {
	asked := q.r.URL.Query().Get("sort")
	for i, order := range jobOrders {
		if order.name == asked {
			at = i
		}
	}
	return at, q.r.URL.Query().Get("dir") == "desc"
}

func (q *request) columns() (columns []column) {
	at, down := q.order()
	for i, order := range jobOrders {
		c := column{Label: order.label, Link: q.with("sort", order.name, "dir", "", "page", "", "from", "", "back", "")}
		switch {
		case i == at && down:
			c.Sort = "descending"
		case i == at:
			c.Sort, c.Link = "ascending", q.with("sort", order.name, "dir", "desc", "page", "", "from", "", "back", "")
		}
		columns = append(columns, c)
	}
	return columns
}

// jobsRead are the jobs that the page is made of.
type jobsRead struct {
	query   jobs.JobQuery
	page    jobs.JobPage
	sorted  bool // by anything but their names: these are all that are asked for
	tooMany bool // to be sorted by what is asked for
}

// readJobs reads the jobs of the page. By their names it reads these only; to sort them by anything else it reads all that are
// asked for, if there are not too many. In a list that goes down, what comes next is what the store has before it.
func (q *request) readJobs(query jobs.JobQuery) (r jobsRead, err error) {
	at, down := q.order()
	if at > 0 {
		query.Limit = sortable
		r.page, err = q.jobPage(query)
		if r.sorted = !r.page.More; err != nil || r.sorted {
			return r, err
		}
		r.tooMany, down = true, false
	}
	params := q.r.URL.Query()
	query.From, query.Back, query.Limit = params.Get("from"), (params.Get("back") != "") != down, pageRows
	r.query = query
	r.page, err = q.jobPage(query)
	return r, err
}

// showJobs are the jobs on the page, in their order.
func (q *request) showJobs(data *jobListData, r jobsRead, t *totals) []jobs.Status {
	if at, down := q.order(); r.sorted {
		found := slices.Clone(r.page.Jobs)
		sortJobs(found, at, down)
		data.Pager = q.newPager(len(found))
		data.Count = fmt.Sprintf("%d to %d of %s", data.Pager.First, data.Pager.Last, number(len(found)))
		return found[data.Pager.First-1 : max(data.Pager.First-1, data.Pager.Last)]
	}
	if data.TooMany = r.tooMany; data.TooMany {
		for i := range data.Columns {
			data.Columns[i].Sort = ""
		}
		data.Columns[0].Sort = "ascending"
	}
	return q.showByName(data, r, t)
}

func (q *request) showByName(data *jobListData, r jobsRead, t *totals) []jobs.Status {
	_, down := q.order()
	down = down && !r.tooMany
	again := r.query.Back != down
	query, page := r.query, r.page
	onPage, total := slices.Clone(page.Jobs), t.count(query.State)
	first := page.Before + 1
	if down {
		slices.Reverse(onPage)
		first = total - page.Before - len(onPage) + 1
	}
	before, after := query.From != "", page.More
	if again {
		before, after = after, before
	}
	if p := &data.Pager; len(onPage) > 0 {
		if before {
			p.Start, p.Prev = q.with("from", "", "back", ""), q.with("from", onPage[0].Job.Name, "back", "1")
		}
		if after {
			p.Next, p.End = q.with("from", onPage[len(onPage)-1].Job.Name, "back", ""), q.with("from", "", "back", "1")
		}
	} else if query.From != "" {
		p.Start = q.with("from", "", "back", "")
	}
	switch n := len(onPage); {
	case page.Before >= 0:
		data.Count = fmt.Sprintf("%s to %s of %s", number(first), number(first+n-1), number(max(total, first+n-1)))
	case before || after:
		data.Count = plural(n, "job") + " on this page"
	default:
		data.Count = plural(n, "job") + " found"
	}
	return onPage
}

// sortJobs sorts by a column.
func sortJobs(statuses []jobs.Status, at int, down bool) {
	order := jobOrders[at]
	slices.SortStableFunc(statuses, func(a, b jobs.Status) int {
		if order.has(a) != order.has(b) {
			if order.has(a) {
				return -1
			}
			return 1
		}
		if !order.has(a) {
			return 0
		}
		if down {
			a, b = b, a
		}
		return order.compare(a, b)
	})
}

// firstHolders are who holds the first locks of jobs, which need not be a run of theirs.
func (q *request) firstHolders(statuses []jobs.Status) map[string]lockrt.LockInfo {
	var keys []string
	for _, st := range statuses {
		if own := keysOf(&st.Job); len(own) > 0 {
			keys = append(keys, own[0])
		}
	}
	return q.holders(keys)
}

func (row *jobRow) showHolder(st jobs.Status, held map[string]lockrt.LockInfo) {
	own := keysOf(&st.Job)
	if len(own) == 0 {
		return
	}
	info, known := held[own[0]]
	switch {
	case !known && row.Holder == "":
		row.Holder = "unknown"
	case info.Key != "":
		row.Holder, row.Fence = holderName(info), fence(info.Fence)
	}
}
