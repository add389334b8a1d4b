package directive

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A Target is the function that a directive stands on.
type Target struct {
	File     *ast.File
	Filename string // its name: go test has functions of its own in files that end in _test.go
	Decl     *ast.FuncDecl

	// Pkg and Info are nil, or hold gaps, when the package was not type checked or does not compile. What can be
	// decided from the syntax alone is decided then, and Func.NeedsTypes says whether that was enough. Of Info only
	// Defs and Types are read.
	Pkg  *types.Package
	Info *types.Info

	// Generated reports whether a position lies in lockgen's own output: a wrapper written by an earlier run does
	// not clash with itself. Nil means nothing does.
	Generated func(token.Pos) bool
}

// A Func is what the directive and the signature together say about the wrapper.
type Func struct {
	Directive  *Directive
	Decl       *ast.FuncDecl
	Name       string // of the wrapper
	Recv       *Param // nil for functions; its Name is "" if unnamed or blank
	RecvType   string // base type name of the receiver, "" for functions
	Params     []*Param
	AddsError  bool // the body's last result is not error: the wrapper returns one more
	Locker     Source
	Tx         *Source     // where the wrapper begins the transaction; nil without tx=
	Keys       []*BoundKey // one for each of Directive.Keys
	NeedsTypes bool        // types were missing and something could not be decided or checked without them
}

// A Role says how the wrapper treats a parameter.
type Role uint8

const (
	RoleOrdinary Role = iota // in the wrapper's signature, passed on
	RoleContext              // the first parameter; the body receives the lease's context
	RoleFence                // not in the wrapper's signature, filled in from the lease of Key
	RoleLease                // the same, the lease itself
	RoleTx                   // the same, the transaction that tx= asks for
)

// Injected reports whether the wrapper fills the parameter in, so that it is absent from its signature.
func (p *Param) Injected() bool {
	return p.Role == RoleFence || p.Role == RoleLease || p.Role == RoleTx
}

// A Param is one parameter. Parameters declared together (a, b int) are separate; unnamed ones have no Ident.
type Param struct {
	Ident    *ast.Ident // nil if unnamed
	Name     string     // "" if unnamed or blank
	Expr     ast.Expr   // the type as written, without the ... of a variadic one
	Type     types.Type // nil without type information; of a variadic parameter the slice
	Variadic bool
	Role     Role
	Key      int // for RoleFence and RoleLease: index into Keys
}

// An Origin is where an expression starts.
type Origin uint8

const (
	FromNewParam Origin = iota // of lockers only: a new parameter right after ctx
	FromParam                  // Params[Param]
	FromReceiver
	FromPackage // a package-level variable, of this package or, if Pkg is set, of an imported one
)

// A Source says where the wrapper gets its *lockrt.Locker, or the *sql.DB of its transaction.
type Source struct {
	From   Origin
	Param  int            // for FromParam
	Var    string         // for FromPackage: the variable
	Pkg    *types.Package // for FromPackage: the imported package, nil for this one
	Fields []string       // what to select from there, embedded fields written out; may be empty
}

// A BoundKey is a key of the directive with what its placeholders read.
type BoundKey struct {
	Key   *Key
	Parts []BoundPart // nil for key=@Const
}

// A BoundPart is literal text, or a placeholder with its value.
type BoundPart struct {
	Text  string       // literal, if Hole is nil
	Hole  *Placeholder // as written
	Value *Value       // nil if it could not be resolved
}

// A Value is what a placeholder reads and how it becomes text.
type Value struct {
	From  Origin // FromParam or FromReceiver
	Param int    // for FromParam
	Steps []Step // the fields to select, embedded fields written out where this package can name them
	// Promoted: a field on the way belongs to an embedded one.
	Promoted bool

	Kind Kind
	Type types.Type // of the selected value, before Deref; nil when syntax alone was enough
	// Deref: the value is a pointer that may be nil, Kind says what it points to.
	Deref bool
	// Addr: the method of KindText and KindStringer belongs to the pointer of the (addressable) value.
	Addr bool

	kinds kindSet // what the values of a KindBasic may be
}

// A Step selects a field.
type Step struct {
	Name    string
	Pointer bool // what it is selected from is a pointer, to be checked for nil first
	// Unchecked: it is promoted through a pointer that cannot be named here. Bind reports it where it matters.
	Unchecked bool
}

// A Kind says how a value is encoded, before its filter.
type Kind uint8

const (
	KindInvalid  Kind = iota
	KindString        // string and named strings
	KindInt           // signed integers and named ones
	KindUint          // unsigned integers and named ones
	KindBool          // bool and named bools
	KindBasic         // a type parameter whose type set mixes the four above
	KindText          // encoding.TextMarshaler
	KindStringer      // fmt.Stringer, filter string
	KindTime          // time.Time, filter unix
	KindLen           // len(path): what len takes
)
