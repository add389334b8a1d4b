package render

import (
	"go/ast"
	"go/types"
	"strconv"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
)

// A File is what one generated file is made from.
type File struct {
	Path  string
	Build string        // the constraint that it repeats, "" if there is none
	Funcs []*bound.Func // in the order of their wrappers
	// Names are what the package declares, generated wrappers included: no import may have one of them.
	Names map[string]bool
	// Receivers are the names that methods have for theirs, by type.
	Receivers map[string]string
}

// A function is a unit, and what other methods of its type call their receiver, "" if none has a name for it.
type function struct {
	*bound.Func
	siblings string
}

// A plan is a generated file with all its names chosen.
type plan struct {
	path, build string
	pkg         *types.Package
	imports     *imports
	wrappers    []*wrapper
	jobs        []*registration
}

// A wrapper is a unit with the names that its generated code uses.
type wrapper struct {
	*function
	copier
	recv       string
	typeParams []string // of a function, in order
	params     []string // for each of Params; "" if the wrapper fills it in
	results    []string // for each result of the body but the error
	lockrt     string   // what package lockrt is called
	named      bool     // the wrapper's results carry their names
	bare       bool     // returns do not mention results: one of them holds a mutex
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

// newPlan chooses all names of a file.
func newPlan(from File) *plan {
	p := &plan{path: from.Path, build: from.Build, pkg: from.Funcs[0].Pkg, imports: newImports()}
	p.imports.add(directive.RuntimePath, "runtime", "lockrt")
	p.imports.add("context", "context", "")
	taken := names{}
	for name := range from.Names {
		taken.reserve(name)
	}
	var functions []*function
	for _, u := range from.Funcs {
		f := &function{u, from.Receivers[u.RecvType]}
		f.addImports(p.imports)
		taken.reserve(typeParamNames(f.Decl)...)
		functions = append(functions, f)
	}
	addJobImports(p.imports, functions)
	p.imports.choose(taken)
	for _, f := range functions {
		p.wrappers = append(p.wrappers, planWrapper(f, p.imports))
	}
	p.jobs = planJobs(functions, p.imports)
	return p
}

// addImports notes every package that the wrapper will mention.
func (f *function) addImports(im *imports) {
	if f.Decl.Recv != nil {
		im.addUsed(f.Decl.Recv, f.Info, f.Pkg)
	}
	im.addUsed(f.Decl.Type, f.Info, f.Pkg)
	f.addSettings(im, false)
	if f.Directive.SkipsBusy() {
		im.add("errors", "errors", "")
	}
	for _, from := range f.sources() {
		if from.Pkg != nil {
			im.addPackage(from.Pkg)
		}
	}
	if f.Tx != nil {
		im.add(sqlstorePath, "sqlstore", "")
		im.add("database/sql", "sql", "")
	}
}

// sources are where the wrapper finds what is not passed to it.
func (f *function) sources() []*directive.Source {
	if f.Tx != nil {
		return []*directive.Source{&f.Locker, f.Tx}
	}
	return []*directive.Source{&f.Locker}
}

// addSettings notes the packages that options bring: those of a job, or those of its lock and of wrappers.
func (f *function) addSettings(im *imports, job bool) {
	for s := range f.Directive.Settings() {
		if (s.Sets.Of == directive.Job) != job {
			continue
		}
		ref := s.Value.Constant()
		if ref != nil && ref.Object != nil && ref.Object.Pkg() != f.Pkg {
			im.addPackage(ref.Object.Pkg())
		}
		if d, ok := s.Value.(*directive.Duration); ok && ref == nil && !s.Zero() && !d.Forever {
			im.add("time", "time", "")
		}
	}
}

// planWrapper names everything inside a wrapper. What the user named comes first and keeps its name unless the body
// needs that name for something else; what lockgen introduces steps aside.
func planWrapper(f *function, im *imports) *wrapper {
	w := &wrapper{function: f, copier: copier{f.Info, f.Pkg, map[string]string{}}, lockrt: im.name[directive.RuntimePath],
		parts: map[*directive.BoundPart]string{}}
	local := names{}
	local.reserve(f.bodyNames()...)
	for _, name := range im.name {
		local.reserve(name)
	}
	w.bare = w.holdsLock()
	w.nameTypeParams(local)
	w.nameParams(local)
	w.nameResults(local)
	w.nameLocals(local)
	return w
}

// bodyNames are the names of the package and the universe that the wrapper's body refers to.
func (f *function) bodyNames() []string {
	found := f.needed()
	if f.Recv != nil {
		found = append(found, plainNames(f.Decl.Recv.List[0].Type, f.Info)...)
	}
	if results := f.Decl.Type.Results; results != nil {
		for _, field := range results.List {
			found = append(found, plainNames(field.Type, f.Info)...)
		}
	}
	return append(found, typeParamNames(f.Decl)...)
}

// needed are those of bodyNames that are no types of the signature: a type parameter may not have them.
func (f *function) needed() []string {
	found := append([]string{}, bound.Predeclared...)
	if f.Recv == nil {
		found = append(found, f.Decl.Name.Name)
	}
	found = append(found, f.constNames(false)...)
	for _, from := range f.sources() {
		if from.From == directive.FromPackage && from.Pkg == nil {
			found = append(found, from.Var)
		}
	}
	return found
}

// constNames are the constants that options of a job name, or those of its lock and of wrappers.
func (f *function) constNames(job bool) []string {
	var found []string
	for s := range f.Directive.Settings() {
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
			found = append(found, directive.IdentNames(field.Names)...)
		}
	}
	if decl.Recv != nil && len(decl.Recv.List) == 1 {
		found = append(found, directive.ReceiverTypeParams(decl.Recv.List[0].Type)...)
	}
	return found
}

func itoa(n int) string { return strconv.Itoa(n) }
