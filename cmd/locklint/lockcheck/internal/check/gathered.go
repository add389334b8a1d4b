package check

import (
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
	if r.Index.Leases == nil {
		return nil
	}
	var list []*leases.Flow
	for _, flow := range r.Index.Leases.Flows {
		if !flow.GaveUp && of(flow.Site.Library) {
			list = append(list, flow)
		}
	}
	return list
}
