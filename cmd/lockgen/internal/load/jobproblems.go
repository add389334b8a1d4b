package load

import (
	"fmt"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
)

// maxJobName is the length of the longest name that package jobs takes.
const maxJobName = 200

// jobProblems finds what keeps the jobs of one owner from being registered together.
func jobProblems(group []*bound.Func) []string {
	var found []string
	jobs := map[string]*bound.Func{}
	for _, u := range group {
		if name := u.JobID(); len(name) > maxJobName {
			found = append(found, fmt.Sprintf("the job of %s would have a name of %d bytes, and %d is the most: give it a shorter "+
				"one with job=", u.Decl.Name.Name, len(name), maxJobName))
		}
		if other := jobs[u.JobID()]; other != nil {
			found = append(found, fmt.Sprintf("%s and %s would both be the job %s: name one with job=", other.Decl.Name.Name,
				u.Decl.Name.Name, u.JobID()))
		}
		jobs[u.JobID()] = u
	}
	return found
}
