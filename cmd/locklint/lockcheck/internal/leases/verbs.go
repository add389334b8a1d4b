package leases

import (
	"go/token"
	"go/types"
	"regexp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/handles"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// findVerbs looks at the methods of the package. Types may wrap types that wrap, hence the rounds.
func (li *Info) findVerbs() {
	li.findFields()
	for range 2 {
		kept := map[string]clients.Client{} // what acquiring methods put into fields
		for _, fn := range li.P.Funcs {
			li.findAcquire(fn, kept)
		}
		for _, fn := range li.P.Funcs {
			li.findRelease(fn, kept)
		}
	}
}

// methodOf is the method that a function is, nil for other functions and for those of types that hide the receiver.
func methodOf(fn *ssa.Function) *types.Func {
	obj, ok := fn.Object().(*types.Func)
	if !ok || fn.Signature.Recv() == nil || len(fn.Params) == 0 || len(fn.Blocks) == 0 {
		return nil
	}
	return obj
}

// lockName marks methods that are there to lock, by their names or those of their types. A worker that takes a lock when
// it starts is something else: whoever goes on when it has not started need not do so without a lock.
var lockName = regexp.MustCompile(`(?i)(^|[^bc])lock|mutex|mtx|acquire|obtain|lease`)

// findAcquire recognises a method that acquires a lock, keeps it in its receiver, and says whether it has got it.
func (li *Info) findAcquire(fn *ssa.Function, kept map[string]clients.Client) {
	obj := methodOf(fn)
	if obj == nil || !lockName.MatchString(ssax.ShortName(obj)) {
		return
	}
	var found *Site
	field := ""
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(*ssa.Call)
			if !ok {
				continue
			}
			site := li.directSite(call)
			if site == nil || !clients.IsKept(site.Library) {
				continue
			}
			if name := keptIn(site); name != "" {
				found, field = site, name
			}
		}
	}
	if found == nil {
		return
	}
	keyed := isRegistry(fn, field)
	kept[field] = found.Library
	if tells, both := tellsOutcome(fn, found); tells && !li.releasesOnSuccess(fn, field) {
		li.verbs[obj] = ownVerb{verb: handles.VerbLock, library: found.Library, both: both, keyed: keyed,
			anyError: handsOnError(found)}
	}
}

// directSite is siteOf without facts about functions.
func (li *Info) directSite(call *ssa.Call) *Site {
	m, ok := ssax.MethodOf(&call.Call)
	if !ok {
		return li.fieldSite(call)
	}
	if site := li.librarySite(call, m); site != nil {
		return site
	}
	return li.lockSite(call, m)
}

// keptIn is the field of the receiver in which the lock of an acquire lives or is put, "" if there is none.
func keptIn(site *Site) string {
	if site.field != "" {
		if base := keyexpr.Of(site.Recv); base.Op == keyexpr.Param && base.Text == "0" {
			return site.field
		}
		return ""
	}
	if site.Recv != nil {
		if name := receiverField(site.Recv); name != "" {
			return name
		}
		return storedIn(ssax.SoleValue(site.Recv))
	}
	for _, instr := range *site.Call.Referrers() {
		if ex, ok := instr.(*ssa.Extract); ok && ex.Index == site.Lease {
			return storedIn(ex)
		}
	}
	return ""
}

// receiverField names the field of the receiver from which a value is read, "" if it is read elsewhere.
func receiverField(v ssa.Value) string {
	k := keyexpr.Of(v)
	if k.Op != keyexpr.Field {
		return ""
	}
	name := k.Text
	for k.Op == keyexpr.Field && len(k.Args) == 1 {
		k = k.Args[0]
	}
	if k.Op != keyexpr.Param || k.Text != "0" {
		return ""
	}
	return name
}

// storedIn names the field of the receiver into which a value is put, "" if there is none.
func storedIn(v ssa.Value) string {
	if v.Referrers() == nil {
		return ""
	}
	for _, instr := range *v.Referrers() {
		if name := enteredIn(instr, v); name != "" {
			return name
		}
		st, ok := instr.(*ssa.Store)
		if !ok || st.Val != v {
			continue
		}
		if field, ok := st.Addr.(*ssa.FieldAddr); ok {
			if base := keyexpr.Of(field.X); base.Op == keyexpr.Param && base.Text == "0" {
				return ssax.FieldName(field.X.Type(), field.Field)
			}
		}
	}
	return ""
}

// releasesOnSuccess reports whether a method releases the lock in a field other than to undo a failure.
func (li *Info) releasesOnSuccess(fn *ssa.Function, field string) bool {
	found := false
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		_, v := li.fieldCall(call.Common())
		releases := v.verb == handles.VerbRelease || li.releasedField(call, nil) == field
		found = found || releases && !ssax.UndoesFailure(call)
	})
	return found
}

// releasedField names the field of the receiver whose lock a call releases, "" if it releases none. Function values are
// releases only where an acquiring method has kept them.
func (li *Info) releasedField(call ssa.CallInstruction, kept map[string]clients.Client) string {
	c := call.Common()
	handle := li.HandleOf(c)
	if handle == nil || li.VerbOf(c, handle) != handles.VerbRelease {
		return ""
	}
	name := fieldOf(handle)
	if li.libraryOf(handle.Type()) == clients.None && kept[name] != clients.Rueidislock {
		return ""
	}
	return name
}

// findRelease recognises a method that releases or extends the lock in its receiver. What does neither, and does not
// touch it, only uses the lock.
func (li *Info) findRelease(fn *ssa.Function, kept map[string]clients.Client) {
	obj := methodOf(fn)
	if obj == nil || li.verbs[obj].verb == handles.VerbLock {
		return
	}
	found := ownVerb{}
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		c := call.Common()
		handle := li.HandleOf(c)
		if handle == nil {
			return
		}
		library := li.libraryOf(handle.Type())
		if addr, v := li.fieldCall(c); addr != nil {
			if releases := handle == ssa.Value(fn.Params[0]) && v.verb == handles.VerbRelease; !releases || isOneOfTwo(call) {
				return
			}
			field := ssax.FieldName(addr.X.Type(), addr.Field)
			v.detached, v.guarded = !passesContext(fn, c), isGuarded(call, field)
			found = v
			return
		}
		if name := fieldOf(handle); name == "" {
			return
		} else if library == clients.None {
			library = kept[name]
		}
		if !clients.IsKept(library) {
			return
		}
		switch li.VerbOf(c, handle) {
		case handles.VerbRelease:
			if li.releasedField(call, kept) != "" && !isOneOfTwo(call) {
				found = ownVerb{verb: handles.VerbRelease, library: library, detached: !passesContext(fn, c),
					guarded: isGuarded(call, fieldOf(handle)) || entryOf(handle) != "" || li.ownOf(c).guarded, keyed: entryOf(handle) != ""}
			}
		case handles.VerbExtend:
			if found.verb == handles.VerbOther {
				found = ownVerb{verb: handles.VerbExtend, library: library, keyed: entryOf(handle) != ""}
			}
		case handles.VerbLock:
			found = ownVerb{verb: handles.VerbOther, library: library} // both, and not in a way that can be followed
		}
	})
	if found.verb != handles.VerbOther {
		found.nilSafe = found.verb == handles.VerbRelease && isNilSafe(fn)
		li.verbs[obj] = found
	}
}

// isOneOfTwo reports whether a call runs only where a function of the program says so, and something else otherwise, as in
// a leader that either resigns or looks whether it leads: whoever calls that does not mean to release.
func isOneOfTwo(call ssa.CallInstruction) bool {
	for b := call.Block(); b.Idom() != nil; b = b.Idom() {
		from := b.Idom()
		branch, ok := from.Instrs[len(from.Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 {
			continue
		}
		cond := branch.Cond
		if not, ok := cond.(*ssa.UnOp); ok && not.Op == token.NOT {
			cond = not.X
		}
		asked, ok := cond.(*ssa.Call)
		if !ok {
			continue
		}
		if _, ok := ssax.MethodOf(&asked.Call); !ok {
			continue
		}
		other := from.Succs[0]
		if other == b {
			other = from.Succs[1]
		}
		if _, leaves := other.Instrs[len(other.Instrs)-1].(*ssa.Return); !leaves {
			return true
		}
	}
	return false
}

// passesContext reports whether a call is given the context that its function is given.
func passesContext(fn *ssa.Function, c *ssa.CallCommon) bool {
	ctx := ssax.ContextOf(c)
	if ctx == nil {
		return false
	}
	p, ok := ssax.SoleValue(ctx).(*ssa.Parameter)
	return ok && p.Parent() == fn
}

// handsOnError reports whether a function returns the error of an acquire as it is, other than where it has found out which
// one it is.
func handsOnError(site *Site) bool {
	var err ssa.Value
	switch {
	case site.Err < 0 && ssax.IsError(site.Call.Type()):
		err = site.Call
	case site.Err >= 0:
		for _, use := range *site.Call.Referrers() {
			if ex, ok := use.(*ssa.Extract); ok && ex.Index == site.Err {
				err = ex
			}
		}
	}
	if err == nil {
		return false
	}
	for _, use := range *err.Referrers() {
		if ret, ok := use.(*ssa.Return); ok && !toldApart(err, ret.Block()) {
			return true
		}
	}
	return false
}

// toldApart reports whether a block runs only where an error has been found to be a certain other one.
func toldApart(err ssa.Value, b *ssa.BasicBlock) bool {
	for ; b.Idom() != nil; b = b.Idom() {
		branch, ok := b.Idom().Instrs[len(b.Idom().Instrs)-1].(*ssa.If)
		if !ok || len(b.Preds) != 1 || b.Idom().Succs[0] != b {
			continue
		}
		switch cond := branch.Cond.(type) {
		case *ssa.BinOp:
			if cond.Op == token.EQL && (cond.X == err || cond.Y == err) {
				return true
			}
		case *ssa.Call:
			if slices.Contains(cond.Call.Args, err) {
				return true
			}
		}
	}
	return false
}
