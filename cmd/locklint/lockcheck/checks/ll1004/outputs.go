package ll1004

import (
	"go/ast"
	"go/token"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// A member names a function or a method of a package: owner is the receiver's type, "" for functions.
type member struct{ owner, name string }

// A protection is a piece of generated code that runs one function under its lock: a wrapper, or a job in RegisterJobs.
type protection struct {
	decl    *ast.FuncDecl
	body    member                // the function that runs
	call    *ast.CallExpr         // of that function
	stmt    ast.Stmt              // the statement that the call stands in
	locker  ast.Expr              // what Do is called on, or the scheduler
	tx      ast.Expr              // where the transaction is begun; nil if there is none
	keys    []ast.Expr            // as they are handed over
	options *ast.CompositeLit     // of the lock
	fields  map[string]ast.Expr   // of a job; nil for wrappers
	consts  map[string]ast.Expr   // what the declaration's own constants and variables are set to
	guarded map[string][]ast.Expr // what they are assigned later

	keysFunc string // the local that builds the keys of a job, "" if there is none
	later    bool   // keys are built before each run
}

// protectionsOf reads the wrappers and jobs of one of lockgen's files. What does not look like lockgen's is left out.
func protectionsOf(file *ast.File) (wrappers, jobs []*protection) {
	for _, decl := range file.Decls {
		fd, ok := decl.(*ast.FuncDecl)
		if !ok || fd.Body == nil {
			continue
		}
		ast.Inspect(fd.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if p := wrapperCall(fd, call); p != nil {
				wrappers = append(wrappers, p)
				return false
			}
			if p := jobCall(fd, call); p != nil {
				jobs = append(jobs, p)
				return false
			}
			return true
		})
	}
	return wrappers, jobs
}

// wrapperCall reads locker.Do(ctx, key, lockrt.Options{…}, func(…) error { … }), or
// sqlstore.DoTx(ctx, locker, key, lockrt.Options{…}, db, func(…) error { … }). nil if a call is something else.
func wrapperCall(fd *ast.FuncDecl, call *ast.CallExpr) *protection {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	var locker, tx ast.Expr
	args := call.Args
	switch name := sel.Sel.Name; {
	case (name == "Do" || name == "DoAll") && len(args) == 4:
		locker, args = sel.X, args[1:]
	case (name == "DoTx" || name == "DoAllTx") && len(args) == 6:
		locker, tx, args = args[1], args[4], []ast.Expr{args[2], args[3], args[5]}
	default:
		return nil
	}
	lit, ok1 := args[2].(*ast.FuncLit)
	options, ok2 := args[1].(*ast.CompositeLit)
	if !ok1 || !ok2 {
		return nil
	}
	p := &protection{decl: fd, locker: locker, tx: tx, keys: []ast.Expr{args[0]}, options: options}
	p.readLocals(fd.Body)
	if list, ok := args[0].(*ast.CompositeLit); ok {
		p.keys = list.Elts
	}
	return p.running(lit)
}

// jobCall reads s.Add(jobs.Job{…}), nil if a call is something else.
func jobCall(fd *ast.FuncDecl, call *ast.CallExpr) *protection {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || sel.Sel.Name != "Add" {
		return nil
	}
	job, ok := call.Args[0].(*ast.CompositeLit)
	if !ok {
		return nil
	}
	p := &protection{decl: fd, locker: sel.X, fields: fieldsOf(job)}
	lit, ok1 := p.fields["Run"].(*ast.FuncLit)
	options, ok2 := p.fields["Lock"].(*ast.CompositeLit)
	if !ok1 || !ok2 {
		return nil
	}
	p.options = options
	p.readLocals(fd.Body)
	if keys, ok := p.fields["Keys"].(*ast.CompositeLit); ok {
		p.keys = keys.Elts
	} else if !p.readKeysFunc() {
		return nil
	}
	return p.running(lit)
}

// readKeysFunc reads the function that builds the keys of a job: it returns a list of them and an error.
func (p *protection) readKeysFunc() bool {
	x := p.fields["KeysFunc"]
	if id, ok := x.(*ast.Ident); ok {
		p.keysFunc, x = id.Name, p.resolve(x)
	}
	lit, ok := x.(*ast.FuncLit)
	if !ok || len(lit.Body.List) == 0 {
		return false
	}
	last, ok := lit.Body.List[len(lit.Body.List)-1].(*ast.ReturnStmt)
	if !ok || len(last.Results) != 2 {
		return false
	}
	list, ok := last.Results[0].(*ast.CompositeLit)
	if !ok {
		return false
	}
	p.keys, p.later = list.Elts, true
	p.readLocals(lit.Body)
	return true
}

// fieldsOf are the values of a struct literal by the names of the fields.
func fieldsOf(lit *ast.CompositeLit) map[string]ast.Expr {
	fields := map[string]ast.Expr{}
	for _, el := range lit.Elts {
		if kv, ok := el.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				fields[key.Name] = kv.Value
			}
		}
	}
	return fields
}

// running finds the call of the function that is protected in what runs under the lock, nil if there is none.
func (p *protection) running(lit *ast.FuncLit) *protection {
	for _, s := range lit.Body.List {
		var x ast.Expr
		switch s := s.(type) {
		case *ast.ExprStmt:
			x = s.X
		case *ast.AssignStmt:
			x = s.Rhs[0]
		case *ast.ReturnStmt:
			if len(s.Results) == 1 {
				x = s.Results[0]
			}
		}
		call, ok := x.(*ast.CallExpr)
		if !ok {
			continue
		}
		name, ok := p.callee(call.Fun)
		if !ok || name == (member{"", p.keysFunc}) {
			continue
		}
		p.body, p.call, p.stmt = name, call, s
		return p
	}
	return nil
}

// callee names the function of this package, or the method of the receiver, that is called.
func (p *protection) callee(fun ast.Expr) (member, bool) {
	switch f := fun.(type) {
	case *ast.IndexExpr:
		return p.callee(f.X)
	case *ast.IndexListExpr:
		return p.callee(f.X)
	case *ast.Ident:
		return member{"", f.Name}, true
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == receiverIdent(p.decl) {
			return member{ownerOf(p.decl), f.Sel.Name}, true
		}
	}
	return member{}, false
}

// readLocals notes what the constants and variables of a function are set to, those of literals in it apart.
func (p *protection) readLocals(body *ast.BlockStmt) {
	if p.consts == nil {
		p.consts, p.guarded = map[string]ast.Expr{}, map[string][]ast.Expr{}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ValueSpec:
			if len(n.Names) == 1 && len(n.Values) == 1 {
				p.consts[n.Names[0].Name] = n.Values[0]
			}
		case *ast.AssignStmt:
			id, ok := n.Lhs[0].(*ast.Ident)
			switch {
			case !ok || len(n.Rhs) != 1:
			case n.Tok == token.DEFINE:
				p.consts[id.Name] = n.Rhs[0]
			default:
				p.guarded[id.Name] = append(p.guarded[id.Name], n.Rhs[0])
			}
		}
		return true
	})
}

// ownerOf is the name of a method's type, "" for functions.
func ownerOf(fd *ast.FuncDecl) string {
	if fd.Recv == nil || len(fd.Recv.List) == 0 {
		return ""
	}
	return directive.ReceiverBase(fd.Recv.List[0].Type)
}

// receiverIdent is the name of a method's receiver, "" if there is none.
func receiverIdent(fd *ast.FuncDecl) string {
	if fd.Recv == nil || len(fd.Recv.List) == 0 || len(fd.Recv.List[0].Names) == 0 {
		return ""
	}
	return fd.Recv.List[0].Names[0].Name
}
