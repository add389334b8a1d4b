package gen

import (
	"fmt"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// jobProblems finds what keeps the jobs of one owner from being registered together.
func jobProblems(group []*unit) []string {
	var found []string
	seen := map[string]*directive.Param{}
	from := map[string]*unit{}
	jobs := map[string]*unit{}
	for _, u := range group {
		w := &wrapper{unit: u}
		if other := jobs[w.jobName()]; other != nil {
			found = append(found, fmt.Sprintf("%s and %s would both be the job %s: name one with job=", other.Decl.Name.Name,
				u.Decl.Name.Name, w.jobName()))
		}
		jobs[w.jobName()] = u
		for _, p := range u.Params {
			if p.Name == "" || !w.passed(p) {
				continue
			}
			if other := seen[p.Name]; other != nil && !sameType(other, p) {
				found = append(found,
					fmt.Sprintf("%s takes %s as %s and %s as %s, and %s has one parameter of that name: rename one of them",
						from[p.Name].Decl.Name.Name, p.Name, other.Text(), u.Decl.Name.Name, p.Text(), registerName))
				continue
			}
			seen[p.Name], from[p.Name] = p, u
		}
	}
	return found
}
