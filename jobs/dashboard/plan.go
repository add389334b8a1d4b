package dashboard

import (
	"sync"
	"time"

	"github.com/lockgen/lockgen/internal/cronspec/words"
	"github.com/lockgen/lockgen/jobs"
)

// plan says when a job runs.
type plan struct {
	words    string // empty if the specification says it as well
	spec     string // as it was written; empty if there is none, or only other nodes know it
	zoneName string // empty for UTC, and without a specification
	zone     *time.Location
}

// plans keeps the words, since a list of many jobs is searched in them. There are as many as the jobs of this node have
// specifications.
type plans struct {
	mu    sync.Mutex // guards words
	words map[string]string
}

func (ps *plans) of(info jobs.Info) plan {
	p := plan{spec: info.Job.Spec, zone: info.Zone}
	switch {
	case p.zone == nil:
		p.zone = time.UTC
	case p.spec != "" && p.zone != time.UTC:
		p.zoneName = p.zone.String()
	}
	switch {
	case p.spec != "":
		p.words = ps.wordsOf(p.spec)
	case defined(info):
		p.words = "By a schedule of its own"
	}
	if p.words == p.spec {
		p.words = ""
	}
	return p
}

func (ps *plans) wordsOf(spec string) string {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	text, ok := ps.words[spec]
	if !ok {
		if ps.words == nil {
			ps.words = map[string]string{}
		}
		text = words.Of(spec)
		ps.words[spec] = text
	}
	return text
}
