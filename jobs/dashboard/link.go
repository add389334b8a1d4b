package dashboard

import (
	"regexp"
	"strings"
	"sync"

	"github.com/lockgen/lockgen/jobs"
)

// jobLink is a job's name, and how tables show it.
type jobLink struct{ Name, Short string }

// Path is what stands before the last part of the name.
func (l jobLink) Path() string { return strings.TrimSuffix(l.Name, l.Base()) }

// Base is the last part of the name.
func (l jobLink) Base() string { return shortName(l.Name) }

// names knows which names of jobs are the same without the path of their package, of those that pages have shown.
type names struct {
	mu   sync.Mutex        // guards jobs
	jobs map[string]string // the name that is shortened to this; "": several are
}

// mostNames is how many short names are remembered. Beyond, jobs are called by their full names.
const mostNames = 10_000

// functionName is what jobs are called by default: import path and function.
var functionName = regexp.MustCompile(`^[\w.~-]+(?:/[\w.~-]+)*/([\w~-]+(?:\.[\w~-]+)+)$`)

// shortName is a job's name without the path of its package.
func shortName(name string) string {
	if m := functionName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

func (n *names) learn(some []jobs.Status) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.jobs == nil {
		n.jobs = map[string]string{}
	}
	for _, st := range some {
		short := shortName(st.Job.Name)
		switch known, ok := n.jobs[short]; {
		case short == st.Job.Name, !ok && len(n.jobs) >= mostNames:
		case !ok:
			n.jobs[short] = st.Job.Name
		case known != st.Job.Name:
			n.jobs[short] = ""
		}
	}
}

// link shortens a name, unless it is that of another job.
func (q *request) link(name string) jobLink {
	n := &q.d.names
	n.mu.Lock()
	defer n.mu.Unlock()
	short := shortName(name)
	if known, ok := n.jobs[short]; ok && known != name || !ok && len(n.jobs) >= mostNames {
		short = name
	}
	return jobLink{name, short}
}
