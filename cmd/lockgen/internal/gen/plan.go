package gen

import (
	"go/ast"
	"go/types"
	"strconv"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A unit is one function with a directive, bound.
type unit struct {
	*directive.Func
	folder *folder
	file   *ast.File
	pkg    *types.Package
	info   *types.Info
	set    set
	// siblings is what other methods of the type call their receiver, "" if none has a name for it.
	siblings string
}

// An output is the plan of one generated file.
type output struct {
	path     string
	pkg      *types.Package
	set      set
	scope    names // what the package declares, generated wrappers included
	imports  *imports
	wrappers []*wrapper
	jobs     []*registration
}

// A wrapper is a unit with the names that its generated code uses.
type wrapper struct {
	*unit
	copier
	recv       string
	typeParams []string // of a function, in order
	params     []string // for each of Params; "" if the wrapper fills it in
	results    []string // for each result of the body but the error
	lockrt     string   // what package lockrt is called
	named      bool     // the wrapper's results carry their names
	ctx        string
	locks      string // a parameter of the wrapper; "" if the locker comes from elsewhere
	keys       []string
	err        string
	lease      string // or leases
	tx         string // the transaction; "" without tx=
	ran        string
	parts      map[*directive.BoundPart]string // locals for values behind pointers

	// Of a job:
	recvPointer bool   // RegisterJobs has a pointer
	recvChecked bool   // it is not nil
	copied      string // what the keys read in place of it: a copy of what it points to, for a value receiver
	keysFunc    string // a local that builds the keys, for a function that wants to know them as well
	keysVar     string // what it returned
	keyVar      string // one of those
}

// planOutput chooses all names of a file.
func planOutput(path string, s set, scope names, units []*unit) *output {
	out := &output{path: path, pkg: units[0].pkg, set: s, scope: scope, imports: newImports()}
	out.imports.add(runtimePath, "runtime", "lockrt")
	out.imports.add("context", "context", "")
	taken := names{}
	for name := range scope {
		taken.reserve(name)
	}
	for _, u := range units {
		u.addImports(out.imports)
		taken.reserve(typeParamNames(u.Decl)...)
	}
	addJobImports(out.imports, units)
	out.imports.choose(taken)
	for _, u := range units {
		out.wrappers = append(out.wrappers, planWrapper(u, out.imports))
	}
	out.jobs = planJobs(units, out.imports)
	return out
}

// addImports notes every package that the wrapper will mention.
func (u *unit) addImports(im *imports) {
	if u.Decl.Recv != nil {
		im.addUsed(u.Decl.Recv, u.info, u.pkg)
	}
	im.addUsed(u.Decl.Type, u.info, u.pkg)
	u.addSettings(im, false)
	if u.Directive.SkipsBusy() {
		im.add("errors", "errors", "")
	}
	for _, from := range u.sources() {
		if from.Pkg != nil {
			im.addPackage(from.Pkg)
		}
	}
	if u.Tx != nil {
		im.add(sqlstorePath, "sqlstore", "")
		im.add("database/sql", "sql", "")
	}
}

// sources are where the wrapper finds what is not passed to it.
func (u *unit) sources() []*directive.Source {
	if u.Tx != nil {
		return []*directive.Source{&u.Locker, u.Tx}
	}
	return []*directive.Source{&u.Locker}
}

// addSettings notes the packages that options bring: those of a job, or those of its lock and of wrappers.
func (u *unit) addSettings(im *imports, job bool) {
	for s := range u.Directive.Settings() {
		if (s.Sets.Of == directive.Job) != job {
			continue
		}
		ref := s.Value.Constant()
		if ref != nil && ref.Object != nil && ref.Object.Pkg() != u.pkg {
			im.addPackage(ref.Object.Pkg())
		}
		if d, ok := s.Value.(*directive.Duration); ok && ref == nil && !s.Zero() && !d.Forever {
			im.add("time", "time", "")
		}
	}
}

// planWrapper names everything inside a wrapper. What the user named comes first and keeps its name unless the body
// needs that name for something else; what lockgen introduces steps aside.
func planWrapper(u *unit, im *imports) *wrapper {
	w := &wrapper{unit: u, copier: copier{u.info, u.pkg, map[string]string{}}, lockrt: im.name[runtimePath],
		parts: map[*directive.BoundPart]string{}}
	local := names{}
	local.reserve(u.bodyNames()...)
	for _, name := range im.name {
		local.reserve(name)
	}
	w.nameTypeParams(local)
	w.nameParams(local)
	w.nameResults(local)
	w.nameLocals(local)
	return w
}

// bodyNames are the names of the package and the universe that the wrapper's body refers to.
func (u *unit) bodyNames() []string {
	found := u.needed()
	if u.Recv != nil {
		found = append(found, plainNames(u.Decl.Recv.List[0].Type, u.info)...)
	}
	if results := u.Decl.Type.Results; results != nil {
		for _, field := range results.List {
			found = append(found, plainNames(field.Type, u.info)...)
		}
	}
	return append(found, typeParamNames(u.Decl)...)
}

// needed are those of bodyNames that are no types of the signature: a type parameter may not have them.
func (u *unit) needed() []string {
	found := append([]string{}, predeclared...)
	if u.Recv == nil {
		found = append(found, u.Decl.Name.Name)
	}
	found = append(found, u.constNames(false)...)
	for _, from := range u.sources() {
		if from.From == directive.FromPackage && from.Pkg == nil {
			found = append(found, from.Var)
		}
	}
	return found
}

// constNames are the constants that options of a job name, or those of its lock and of wrappers.
func (u *unit) constNames(job bool) []string {
	var found []string
	for s := range u.Directive.Settings() {
		if ref := s.Value.Constant(); ref != nil && (s.Sets.Of == directive.Job) == job {
			found = append(found, ref.Name)
		}
	}
	return found
}

func typeParamNames(decl *ast.FuncDecl) []string {
	var found []string
	if decl.Type.TypeParams != nil {
		for _, field := range decl.Type.TypeParams.List {
			found = append(found, identNames(field.Names)...)
		}
	}
	if decl.Recv != nil && len(decl.Recv.List) == 1 {
		found = append(found, directive.ReceiverTypeParams(decl.Recv.List[0].Type)...)
	}
	return found
}

func itoa(n int) string { return strconv.Itoa(n) }
