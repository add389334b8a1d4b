package render

import (
	"maps"
	"slices"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// nameTypeParams names the type parameters. A function's blank one needs a name: the call of the body mentions it. One
// that is called like something else that the wrapper's body needs gets another name.
func (w *wrapper) nameTypeParams(local names) {
	taken := maps.Clone(local)
	taken.reserve(plainNames(w.Decl.Type, w.function.Info)...)
	rename := func(name string) string {
		if name != "_" && !slices.Contains(w.needed(), name) {
			return name
		}
		fresh := taken.claim("T")
		local.reserve(fresh)
		if name != "_" {
			w.renamed[name] = fresh
		}
		return fresh
	}
	if w.Decl.Type.TypeParams != nil {
		for _, name := range fieldNames(w.Decl.Type.TypeParams) {
			w.typeParams = append(w.typeParams, rename(name))
		}
	}
	if w.Recv != nil {
		for _, name := range directive.ReceiverTypeParams(w.Decl.Recv.List[0].Type) {
			if name != "_" {
				rename(name)
			}
		}
	}
}

// nameParams names the receiver and the parameters: first those with a name, so that the others stay clear of them.
func (w *wrapper) nameParams(local names) {
	if w.Recv != nil && w.Recv.Name != "" {
		w.recv = local.param(w.Recv.Name)
	}
	w.params = make([]string, len(w.Params))
	for i, p := range w.Params {
		if p.Name != "" && !p.Injected() {
			w.params[i] = local.param(p.Name)
		}
	}
	// Named results share the parameters' scope.
	if w.named = someNamed(w.Decl.Type.Results); w.named {
		for _, name := range fieldNames(w.Decl.Type.Results) {
			if name != "_" {
				name = local.param(name)
			}
			w.results = append(w.results, name)
		}
	}
	if w.Recv != nil && w.recv == "" {
		w.recv = local.claim(w.usualReceiver(), lowerFirst(w.RecvType), "recv")
	}
	for i, p := range w.Params {
		switch {
		case p.Name != "" || p.Injected():
		case p.Role == directive.RoleContext:
			w.params[i] = local.local("ctx")
		default:
			w.params[i] = local.claim("arg" + itoa(i+1))
		}
	}
	if len(w.Params) > 0 && w.Params[0].Role == directive.RoleContext {
		w.ctx = w.params[0]
	} else {
		w.ctx = local.local("ctx")
	}
	if w.Locker.From == directive.FromNewParam {
		w.locks = local.local("locks")
	}
}

// nameResults names the results other than the error, which is taken off a named list. A blank one among named ones
// gets a name, too: the wrapper returns it.
func (w *wrapper) nameResults(local names) {
	if !w.named {
		for _, typ := range w.resultTypes() {
			w.results = append(w.results, local.claim(resultName(typ), "result"))
		}
		if w.bare {
			w.named, w.err = true, local.local("err")
		}
		return
	}
	if last := len(w.results) - 1; !w.AddsError {
		w.results, w.err = w.results[:last], w.results[last]
	}
	for i, typ := range w.resultTypes() {
		if w.results[i] == "_" {
			w.results[i] = local.claim(resultName(typ), "result")
		}
	}
	if w.err == "" || w.err == "_" {
		w.err = local.local("err")
	}
}

func (w *wrapper) nameLocals(local names) {
	if w.err == "" {
		w.err = local.local("err")
	}
	for i := range w.Keys {
		name := "key"
		if len(w.Keys) > 1 {
			name += itoa(i + 1)
		}
		w.keys = append(w.keys, local.local(name))
		w.nameParts(local, w.Keys[i])
	}
	if w.usesLease() {
		w.lease = local.local(map[bool]string{false: "lease", true: "leases"}[len(w.Keys) > 1])
	}
	if w.Tx != nil {
		w.tx = local.local("tx")
	}
	if w.Directive.SkipsBusy() {
		w.ran = local.local("ran")
	}
}

// nameParts names locals for values that are read through pointers.
func (w *wrapper) nameParts(local names, key *directive.BoundKey) {
	for i := range key.Parts {
		if part := &key.Parts[i]; part.Hole != nil && w.behindPointer(part.Value) {
			last := lowerFirst(part.Hole.Path[len(part.Hole.Path)-1].Name)
			w.parts[part] = local.claim(last, last+"Part")
		}
	}
}

// behindPointer tells whether reading a value could go through a nil pointer, so that it has to be guarded.
func (w *wrapper) behindPointer(v *directive.Value) bool {
	if v.Kind == directive.KindLen && v.Deref {
		return true
	}
	for n := range v.Steps {
		if w.mayBeNil(v, n) {
			return true
		}
	}
	return false
}

// mayBeNil tells whether the n-th field on the way to a value is selected from a pointer that may be nil.
func (w *wrapper) mayBeNil(v *directive.Value, n int) bool {
	return v.Steps[n].Pointer && !(n == 0 && v.From == directive.FromReceiver && w.recvChecked)
}

// usesLease tells whether the body takes a fence or a lease.
func (w *wrapper) usesLease() bool {
	for _, p := range w.Params {
		if p.Role == directive.RoleFence || p.Role == directive.RoleLease {
			return true
		}
	}
	return false
}

// usesContext tells whether the body takes a context.
func (w *wrapper) usesContext() bool {
	return len(w.Params) > 0 && w.Params[0].Role == directive.RoleContext
}
