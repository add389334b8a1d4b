package lockcheck

import "golang.org/x/tools/go/ssa"

// siteOf recognises a call that returns a lease which the caller has to release, or that locks an object.
func (li *leaseInfo) siteOf(call *ssa.Call) *leaseSite {
	m, ok := methodOf(&call.Call)
	if !ok {
		return nil
	}
	if site := li.librarySite(call, m); site != nil {
		return site
	}
	if isLockCall(m) {
		return li.mutexSite(call, m)
	}
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Parent() != nil || clientOfPackage(m.obj.Pkg()) != notClient {
		return nil
	}
	f := li.factOf(fn)
	results := fn.Signature.Results()
	if f.Returns == 0 || f.Returns > results.Len() {
		return nil
	}
	library := handleLibrary(results.At(f.Returns - 1).Type())
	if library == notClient {
		library = rueidislock
	}
	return &leaseSite{
		call: call, name: calleeShort(fn), library: library, lease: f.Returns - 1, err: f.Err - 1, ok: f.OK - 1,
		only: results.Len() == 1, closed: closesLocker(call.Parent()),
	}
}

// librarySite recognises the calls of the libraries themselves that return a lease.
func (li *leaseInfo) librarySite(call *ssa.Call, m method) *leaseSite {
	site := &leaseSite{call: call, name: m.obj.Name(), library: clientOfPackage(m.obj.Pkg()), lease: 0, err: 1, ok: -1}
	switch site.library {
	case lockRuntime:
		switch m.obj.Name() {
		case "Acquire", "TryAcquire", "AcquireAll":
			if m.recv == nil || namedIn(m.recv.Type(), lockRuntime) != "Locker" {
				return nil
			}
		default:
			return nil
		}
		site.optional = li.keepsUntilExpiry(m)
	case redislock:
		if m.obj.Name() != "Obtain" && m.obj.Name() != "ObtainMulti" {
			return nil
		}
	case rueidislock:
		switch m.obj.Name() {
		case "WithContext", "TryWithContext", "ForceWithContext":
		default:
			return nil
		}
		site.lease, site.err = 1, 2
		site.closed = endsContext(call)
	default:
		return nil
	}
	site.closed = site.closed || closesLocker(call.Parent())
	return site
}

// isLockCall reports whether a call locks a redsync mutex.
func isLockCall(m method) bool {
	return m.recv != nil && handleLibrary(m.recv.Type()) == redsync && clientOfPackage(m.obj.Pkg()) == redsync &&
		verbOf(m.call, m.recv) == verbLock
}

// mutexSite describes the locking of a mutex.
func (li *leaseInfo) mutexSite(call *ssa.Call, m method) *leaseSite {
	site := &leaseSite{call: call, name: "Mutex." + m.obj.Name(), library: redsync, lease: -1, err: -1, ok: -1,
		recv: m.recv}
	born := soleValue(m.recv)
	if instr, ok := born.(ssa.Instruction); ok && instr.Parent() == call.Parent() && li.isNew(born) {
		site.made = born
		return site
	}
	if load, ok := m.recv.(*ssa.UnOp); ok {
		if k := keyOf(load); k.known() {
			site.at = k.String()
		}
	}
	return site
}

// isMutex reports whether a value that is read from memory is the mutex that the site locks.
func (site *leaseSite) isMutex(load *ssa.UnOp) bool {
	return site.at != "" && handleLibrary(load.Type()) == redsync && keyOf(load).String() == site.at
}

// owned reports whether the lease is this function's to release: always, but for a mutex that was not born here.
func (site *leaseSite) owned() bool { return site.recv == nil || site.made != nil }

// isNew reports whether a value is a mutex that nobody else has: what NewMutex returns, or a function that calls it.
func (li *leaseInfo) isNew(v ssa.Value) bool {
	index := 0
	if ex, ok := v.(*ssa.Extract); ok {
		v, index = ex.Tuple, ex.Index
	}
	call, ok := v.(*ssa.Call)
	if !ok {
		return false
	}
	m, ok := methodOf(&call.Call)
	if !ok {
		return false
	}
	if clientOfPackage(m.obj.Pkg()) == redsync {
		return m.obj.Name() == "NewMutex"
	}
	fn := call.Call.StaticCallee()
	return fn != nil && fn.Parent() == nil && li.factOf(fn).Makes == index+1
}

// makes finds the result of a function that is a new mutex whenever it is not nil. 0 for none.
func (li *leaseInfo) makes(fn *ssa.Function) int {
	results := fn.Signature.Results()
	for i := range results.Len() {
		if handleLibrary(results.At(i).Type()) != redsync || fn.Parent() != nil {
			continue
		}
		made := 0
		for _, b := range fn.Blocks {
			ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
			if !ok || isNilConst(ret.Results[i]) {
				continue
			}
			if !li.isNew(ret.Results[i]) || !onlyReturned(ret.Results[i]) {
				return 0
			}
			made = i + 1
		}
		return made
	}
	return 0
}

// onlyReturned reports whether nothing is done with a value but to return it.
func onlyReturned(v ssa.Value) bool {
	for _, instr := range *v.Referrers() {
		switch instr.(type) {
		case *ssa.Return, *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}

// soleValue is what a variable holds if it is assigned only once, else the value itself.
func soleValue(v ssa.Value) ssa.Value {
	load, ok := v.(*ssa.UnOp)
	if !ok {
		return v
	}
	cell, ok := cellOf(load.X).(*ssa.Alloc)
	if !ok {
		return v
	}
	if stored, ok := onlyStore(cell); ok {
		return stored
	}
	return v
}

// endsContext reports whether an acquire is given a context that was made for this piece of work: rueidislock's locks
// end with it.
func endsContext(call *ssa.Call) bool {
	ex, ok := soleValue(contextOf(&call.Call)).(*ssa.Extract)
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

// closesLocker reports whether a function, or the one around it, closes a locker: that releases what it holds.
func closesLocker(fn *ssa.Function) bool {
	closes := false
	eachCall(outermost(fn), func(call ssa.CallInstruction) {
		m, ok := methodOf(call.Common())
		if !ok || m.recv == nil || m.obj.Name() != "Close" {
			return
		}
		t := m.recv.Type()
		closes = closes || namedIn(t, lockRuntime) == "Locker" || namedIn(t, rueidislock) == "Locker"
	})
	return closes
}

// keepsUntilExpiry reports whether the options of an acquire may say NoRenew: then the lock is over after its TTL
// without anybody's help, and leaving it until then is a rate limit.
func (li *leaseInfo) keepsUntilExpiry(m method) bool {
	if len(m.args) == 0 {
		return false
	}
	set, known := li.p.optionOf(m.args[len(m.args)-1], "NoRenew")
	return !known || set != nil
}
