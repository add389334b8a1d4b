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

// names knows which names of jobs are the same without the path of their package.
type names struct {
	mu   sync.Mutex // guards jobs
	jobs map[string]int
}

// functionName is what jobs are called by default: import path and function.
var functionName = regexp.MustCompile(`^[\w.~-]+(?:/[\w.~-]+)*/([\w~-]+(?:\.[\w~-]+)+)$`)

// shortName is a job's name without the path of its package.
func shortName(name string) string {
	if m := functionName.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

func (n *names) learn(all []jobs.Status) {
	count := make(map[string]int, len(all))
	for _, st := range all {
		count[shortName(st.Job.Name)]++
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.jobs = count
}

// link shortens a name, unless two jobs would look the same.
func (q *request) link(name string) jobLink {
	n := &q.d.names
	n.mu.Lock()
	defer n.mu.Unlock()
	short := shortName(name)
	if n.jobs[short] > 1 {
		short = name
	}
	return jobLink{name, short}
}
