package bound

import (
	"go/types"
	"slices"
)

// RegisterName is what registers the scheduled jobs of a package, or of a type as its method.
const RegisterName = "RegisterJobs"

// Scheduled are the functions with cron=, by owner: first the package's, then those of each type in alphabetical order.
func Scheduled[F interface {
	IsJob() bool
	Owner() string
}](all []F) [][]F {
	byOwner := map[string][]F{}
	var owners []string
	for _, f := range all {
		if !f.IsJob() {
			continue
		}
		if byOwner[f.Owner()] == nil {
			owners = append(owners, f.Owner())
		}
		byOwner[f.Owner()] = append(byOwner[f.Owner()], f)
	}
	slices.Sort(owners)
	var groups [][]F
	for _, owner := range owners {
		groups = append(groups, byOwner[owner])
	}
	return groups
}

// Predeclared are the names of the universe that generated code uses. A package that declares one of them itself would
// change its meaning.
var Predeclared = []string{"error", "nil", "string", "true", "false", "len"}

// ReceiverNamed is the named type that a receiver is, or points to; nil if it is none.
func ReceiverNamed(t types.Type) *types.Named {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}
