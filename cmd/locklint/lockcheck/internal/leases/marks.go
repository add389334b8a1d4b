package leases

import (
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Some locks are marks that something has been done: they last for hours, stay where it went well, and are released
// only where it failed, so that it can be tried again.

// Marks reports whether what is followed is such a mark. That it lasts long tells it from a lock whose release on
// success has been forgotten. A lease of this project's runtime is one only where nobody renews it.
func (li *Info) Marks(flow *Flow) bool {
	if flow.Site.Library == clients.Runtime && !flow.Site.Optional {
		return false
	}
	lasts, ok := li.Expiry(flow.Site)
	if !ok || lasts < ssax.LongMark || !flow.Released {
		return false
	}
	for call := range flow.Releases {
		if !ssax.GivesBack(call) {
			return false
		}
	}
	return true
}

// redsyncExpiry is how long redsync's locks last unless told otherwise.
const redsyncExpiry = 8 * time.Second

// Expiry is the constant time to live of a lock. rueidislock renews its own.
func (li *Info) Expiry(site *Site) (time.Duration, bool) {
	m, ok := ssax.MethodOf(&site.Call.Call)
	if !ok {
		return 0, false
	}
	switch clients.OfPackage(m.Obj.Pkg()) {
	case clients.Redislock:
		for _, a := range m.Args {
			if ssax.IsDuration(a.Type()) {
				return ssax.ConstDuration(a)
			}
		}
		return 0, false
	case clients.Runtime:
		ttl, known := li.P.OptionOf(m.Args[len(m.Args)-1], "TTL")
		if !known || ttl == nil {
			return 0, false
		}
		return ssax.ConstDuration(ttl)
	}
	if site.Recv == nil {
		return 0, false
	}
	made, ok := ssax.SoleValue(site.Recv).(*ssa.Call)
	if !ok {
		return 0, false
	}
	maker, ok := ssax.MethodOf(&made.Call)
	if !ok || clients.OfPackage(maker.Obj.Pkg()) != clients.Redsync || maker.Obj.Name() != "NewMutex" {
		return 0, false
	}
	options, ok := ssax.Variadic(maker.Arg(1))
	if !ok {
		return 0, false
	}
	ttl := redsyncExpiry
	for _, o := range options {
		call, ok := o.(*ssa.Call)
		if !ok {
			return 0, false
		}
		fn := call.Call.StaticCallee()
		if fn == nil || fn.Name() != "WithExpiry" && fn.Name() != "SetExpiry" {
			continue
		}
		if ttl, ok = ssax.ConstDuration(call.Call.Args[0]); !ok {
			return 0, false
		}
	}
	return ttl, true
}
