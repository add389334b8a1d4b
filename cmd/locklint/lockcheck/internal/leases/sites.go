package leases

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// siteOf recognises a call that returns a lease which the caller has to release, or that locks an object.
func (li *Info) siteOf(call *ssa.Call) *Site {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok {
		return li.fieldSite(call)
	}
	if site := li.librarySite(call, m); site != nil {
		return site
	}
	if site := li.lockSite(call, m); site != nil {
		return site
	}
	if site := li.lockerSite(call, m); site != nil {
		return site
	}
	if site := li.retrySite(call, m); site != nil {
		return site
	}
	f := li.factOfCallee(&call.Call, m)
	if f == nil && (handles.HandsOutLease(m.Obj) || handles.HidesObtain(m.Obj)) {
		f = &Fact{Returns: 1, Err: 2}
		if m.Obj.Signature().Results().Len() == 3 {
			f.OK, f.Err, f.Both = 2, 3, true
		}
	}
	if (f == nil || f.Returns == 0 && f.Verb == handles.VerbOther) && handles.HandsOutHeld(m.Obj) {
		f = &Fact{Returns: 1, Err: 2, Library: clients.Redislock}
	}
	results := m.Obj.Signature().Results()
	if f == nil || f.Returns == 0 || f.Returns > results.Len() || f.Vague && asksBeside(call, f) {
		return nil
	}
	library := li.libraryOf(results.At(f.Returns - 1).Type())
	switch {
	case library != clients.None:
	case f.Library != clients.None:
		library = f.Library
	default:
		library = clients.Rueidislock
	}
	return &Site{
		Call: call, Name: ssax.ShortName(m.Obj), Library: library, Lease: f.Returns - 1, Err: f.Err - 1, OK: f.OK - 1,
		only: results.Len() == 1, Null: f.Null, Always: f.Always, Spare: f.Spare, Both: f.Both && f.Verb == handles.VerbOther,
		Detached: f.Detached && f.Verb == handles.VerbOther, Closed: closesLocker(call.Parent()),
		AnyError: f.AnyError && f.Verb == handles.VerbOther, Busy: f.Busy && f.Verb == handles.VerbOther,
	}
}

// librarySite recognises the calls of the libraries themselves that return a lease.
func (li *Info) librarySite(call *ssa.Call, m ssax.Method) *Site {
	site := &Site{Call: call, Name: m.Obj.Name(), Library: clients.OfPackage(m.Obj.Pkg()), Lease: 0, Err: 1, OK: -1}
	switch site.Library {
	case clients.Runtime:
		switch m.Obj.Name() {
		case "Acquire", "TryAcquire", "AcquireAll", "AcquireEach":
			if m.Recv == nil || clients.Named(m.Recv.Type(), clients.Runtime) != "Locker" {
				return nil
			}
		default:
			return nil
		}
		site.Optional = li.keepsUntilExpiry(m)
	case clients.Redislock:
		if m.Obj.Name() != "Obtain" && m.Obj.Name() != "ObtainMulti" {
			return nil
		}
	case clients.Rueidislock:
		switch m.Obj.Name() {
		case "WithContext", "TryWithContext", "ForceWithContext":
		default:
			return nil
		}
		site.Lease, site.Err = 1, 2
		site.Closed = endsContext(call)
	default:
		return nil
	}
	site.Closed = site.Closed || closesLocker(call.Parent())
	return site
}

// lockSite describes a call that locks an object: a mutex of redsync, or one of the program's own.
func (li *Info) lockSite(call *ssa.Call, m ssax.Method) *Site {
	if isLockCall(m) {
		site := li.mutexSite(call, m)
		switch site.Library = handles.Library(m.Recv.Type()); {
		case clients.IsCoordinator(site.Library):
			if site.Library != clients.Etcd {
				site.Name = "Lock" + strings.TrimPrefix(site.Name, "Mutex")
			}
			if site.Library == clients.Consul {
				site.Err = 1
			}
			li.endsWithSession(site)
		case site.Library == clients.GoZero:
			site.Name = "RedisLock." + m.Obj.Name()
			site.OK, site.Err, site.Both, site.Spare = 0, 1, true, true // it compares its own token
		}
		return site
	}
	if m.Recv == nil {
		return nil
	}
	v := li.own(m.Obj)
	if v.verb != handles.VerbLock {
		return nil
	}
	site := li.mutexSite(call, m)
	site.Name, site.Library, site.Both, site.Keyed = ssax.ShortName(m.Obj), v.library, v.both, v.keyed
	site.AnyError = v.anyError
	site.findOutcome()
	if clients.IsCoordinator(site.Library) {
		li.endsWithSession(site)
	}
	return site
}

// endsWithSession completes what is known of a lock of a coordination service, also one that a type of the program
// wraps: it ends with a session or a connection, and Consul returns a channel, which is nil where a single try has
// not got the lock.
func (li *Info) endsWithSession(site *Site) {
	fn := site.Call.Parent()
	site.Closed = closesLocker(fn) || ssax.IsMain(ssax.Outermost(fn)) || li.closesWrapper(site)
	results := site.Call.Call.Signature().Results()
	if site.Library != clients.Consul || results.Len() < 2 {
		return
	}
	if _, ok := results.At(0).Type().Underlying().(*types.Chan); ok && channelAsked(site.Call) {
		site.OK, site.Both = 0, true
	}
}

// closesWrapper reports whether the function of a site closes the object of the program's own that it locks, and with
// it the session that the lock ends with.
func (li *Info) closesWrapper(site *Site) bool {
	if !li.isOwn(site.Recv.Type()) {
		return false
	}
	closes := false
	ssax.EachCall(ssax.Outermost(site.Call.Parent()), func(call ssa.CallInstruction) {
		m, ok := ssax.MethodOf(call.Common())
		closes = closes || ok && m.Recv != nil && m.Obj.Name() == "Close" && types.Identical(m.Recv.Type(), site.Recv.Type())
	})
	return closes
}

// channelAsked reports whether somebody compares the channel that Consul returns with nil.
func channelAsked(call *ssa.Call) bool {
	asked := false
	for _, instr := range *call.Referrers() {
		ex, ok := instr.(*ssa.Extract)
		if !ok || ex.Index != 0 {
			continue
		}
		for _, use := range *ex.Referrers() {
			if st, ok := use.(*ssa.Store); ok {
				ssax.EachCellUse(st.Addr, func(instr ssa.Instruction, _ ssa.Value) bool {
					load, ok := instr.(*ssa.UnOp)
					asked = asked || ok && slices.ContainsFunc(*load.Referrers(), isNilTest)
					return true
				})
			}
			asked = asked || isNilTest(use)
		}
	}
	return asked
}

// isLockCall reports whether a call locks a mutex of redsync, go-zero's RedisLock, or a lock of a coordination service.
func isLockCall(m ssax.Method) bool {
	if m.Recv == nil {
		return false
	}
	library := handles.Library(m.Recv.Type())
	return clients.HasMutex(library) && clients.OfPackage(m.Obj.Pkg()) == library &&
		handles.VerbOf(m.Call, m.Recv) == handles.VerbLock
}

// mutexSite describes the locking of a mutex.
func (li *Info) mutexSite(call *ssa.Call, m ssax.Method) *Site {
	site := &Site{Call: call, Name: "Mutex." + m.Obj.Name(), Library: clients.Redsync, Lease: -1, Err: -1, OK: -1,
		Recv: m.Recv, rounds: elementRounds(m.Recv)}
	born := ssax.SoleValue(m.Recv)
	if load, ok := born.(*ssa.UnOp); ok {
		if set := ssax.FieldValue(load); set != nil {
			born = ssax.SoleValue(set)
		}
	}
	if instr, ok := born.(ssa.Instruction); ok && instr.Parent() == call.Parent() && li.isNew(born) {
		site.made = born
		return site
	}
	for _, v := range []ssa.Value{m.Recv, born} {
		if made := li.bornAs(v); made != nil && made.Parent() == call.Parent() {
			site.made = made
			return site
		}
	}
	if holder, ok := holderOf(m.Recv).(ssa.Instruction); ok && holder.Parent() == call.Parent() && li.isNew(holderOf(m.Recv)) {
		site.made = holderOf(m.Recv)
	}
	switch m.Recv.(type) {
	case *ssa.UnOp, *ssa.Field:
		if k := keyexpr.Of(m.Recv); k.Known() {
			site.at = k.String()
		}
	}
	return site
}

// isMutex reports whether a value that is read from memory, or from a struct, is the mutex that the site locks.
func (site *Site) isMutex(read ssa.Value) bool {
	return site.at != "" && keyexpr.Of(read).String() == site.at
}

// Owned reports whether the lease is this function's to release: always, but for a mutex that was not born here.
func (site *Site) Owned() bool { return site.Recv == nil || site.made != nil }

// endsContext reports whether an acquire is given a context that was made for this piece of work: rueidislock's locks
// end with it.
func endsContext(call *ssa.Call) bool {
	ex, ok := ssax.SoleValue(ssax.ContextOf(&call.Call)).(*ssa.Extract)
	if !ok {
		return false
	}
	maker, ok := ex.Tuple.(*ssa.Call)
	if !ok {
		return false
	}
	fn := maker.Call.StaticCallee()
	return fn != nil && fn.Pkg != nil && (fn.Pkg.Pkg.Path() == "context" || fn.Pkg.Pkg.Path() == "os/signal")
}

// closesLocker reports whether a function, or the one around it, closes a locker or a session: that releases what it
// holds.
func closesLocker(fn *ssa.Function) bool {
	closes := false
	ssax.EachCall(ssax.Outermost(fn), func(call ssa.CallInstruction) {
		m, ok := ssax.MethodOf(call.Common())
		if !ok || m.Recv == nil || m.Obj.Name() != "Close" {
			return
		}
		t := m.Recv.Type()
		closes = closes || clients.Named(t, clients.Runtime) == "Locker" || clients.Named(t, clients.Rueidislock) == "Locker" ||
			clients.Named(t, clients.Etcd) == "Session" || clients.Named(t, clients.ZooKeeper) == "Conn"
	})
	return closes
}

// keepsUntilExpiry reports whether the options of an acquire may say NoRenew: then the lock is over after its TTL
// without anybody's help, and leaving it until then is a rate limit.
func (li *Info) keepsUntilExpiry(m ssax.Method) bool {
	if len(m.Args) == 0 {
		return false
	}
	set, known := li.P.OptionOf(m.Args[len(m.Args)-1], "NoRenew")
	return !known || set != nil
}

// findOutcome finds where the call says whether it has the lock. A single result is looked at as it is.
func (s *Site) findOutcome() {
	results := s.Call.Call.Signature().Results()
	for i := range results.Len() {
		switch t := results.At(i).Type(); {
		case results.Len() == 1:
		case ssax.IsError(t):
			s.Err = i
		case ssax.IsBool(t):
			s.OK = i
		}
	}
}
