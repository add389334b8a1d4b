package check

import (
	"slices"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/leases"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/sections"
)

// Criticals are the critical sections of the package.
func (r *Reporter) Criticals() []*sections.Section {
	if r.Index.Leases == nil {
		return nil
	}
	return r.Index.Sections()
}

// Flows are the leases of some libraries that could be followed to the end.
func (r *Reporter) Flows(of func(clients.Client) bool) []*leases.Flow {
	return slices.DeleteFunc(r.AllFlows(of), func(flow *leases.Flow) bool { return flow.GaveUp })
}

// AllFlows are the leases of some libraries, also those of which nobody knows what becomes of them.
func (r *Reporter) AllFlows(of func(clients.Client) bool) (list []*leases.Flow) {
	if r.Index.Leases == nil {
		return nil
	}
	for _, flow := range r.Index.Leases.Flows {
		if of(flow.Site.Library) {
			list = append(list, flow)
		}
	}
	return list
}
