package gen

import (
	"fmt"
	"go/types"
)

// maxJobName is the length of the longest name that package jobs takes.
const maxJobName = 200

// jobProblems finds what keeps the jobs of one owner from being registered together.
func jobProblems(group []*unit) []string {
	var found []string
	jobs := map[string]*unit{}
	for _, u := range group {
		if name := u.jobName(); len(name) > maxJobName {
			found = append(found, fmt.Sprintf("the job of %s would have a name of %d bytes, and %d is the most: give it a shorter "+
				"one with job=", u.Decl.Name.Name, len(name), maxJobName))
		}
		if other := jobs[u.jobName()]; other != nil {
			found = append(found, fmt.Sprintf("%s and %s would both be the job %s: name one with job=", other.Decl.Name.Name,
				u.Decl.Name.Name, u.jobName()))
		}
		jobs[u.jobName()] = u
	}
	return found
}

// isDependency tells whether a parameter stands for something that lives elsewhere, such as a database or a client.
func isDependency(t types.Type) bool {
	if t == nil {
		return false
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface, *types.Signature, *types.Chan, *types.Map:
		return true
	}
	return false
}

func receiverNamed(t types.Type) *types.Named {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}
