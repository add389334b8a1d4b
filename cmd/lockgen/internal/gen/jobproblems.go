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

// paramType is the type of a parameter in terms of the receiver's own type parameters: each method may have other names
// for them, and go/types has other objects. It is nil if the type is not known.
func (u *unit) paramType(i int) types.Type {
	p := u.Params[i]
	fn, ok := u.info.Defs[u.Decl.Name].(*types.Func)
	if p.Type == nil || !ok || fn.Signature().RecvTypeParams().Len() == 0 {
		return p.Type
	}
	named := receiverNamed(fn.Signature().Recv().Type())
	if named == nil {
		return p.Type
	}
	var own []types.Type
	for param := range named.Origin().TypeParams().TypeParams() {
		own = append(own, param)
	}
	instance, err := types.Instantiate(nil, named.Origin(), own, false)
	if err != nil {
		return p.Type
	}
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(instance), true, u.pkg, u.Decl.Name.Name)
	if method, ok := obj.(*types.Func); ok && i < method.Signature().Params().Len() {
		return method.Signature().Params().At(i).Type()
	}
	return p.Type
}

func receiverNamed(t types.Type) *types.Named {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}
