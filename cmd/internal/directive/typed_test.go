package directive

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

// What the tests' sources import. Bodies and the rest of these packages make no difference to a directive.
var fakePackages = map[string]string{
	"context": `package context
type Context interface{ Err() error }`,
	"time": `package time
type Duration int64
const Second Duration = 1000000000
func (d Duration) String() string { return "" }
type Time struct{ wall uint64 }
func (t Time) String() string { return "" }
func (t Time) MarshalText() ([]byte, error) { return nil, nil }`,
	"database/sql": `package sql
type DB struct{ x int }`,
	RuntimePath: `package lockrt
type Locker struct{ x int }
type Lease struct{ x int }
type Fence uint64
const Forever = 1<<63 - 1`,
	"example.com/uuid": `package uuid
type UUID [16]byte
func (u UUID) MarshalText() ([]byte, error) { return nil, nil }
func (u UUID) String() string { return "" }`,
	"example.com/conf": `package conf
import "time"
import lockrt "github.com/lockgen/lockgen/runtime"
const TTL = 40 * time.Second
const Zone = "UTC"
const Blank = 30
const hidden = "x"
var Locks *lockrt.Locker
var Spec = "@daily"
type Base struct {
	locks *lockrt.Locker
	Open *lockrt.Locker
	hidden string
	Shown string
}`,
}

type fakes map[string]*types.Package

func (f fakes) Import(path string) (*types.Package, error) {
	if pkg := f[path]; pkg != nil {
		return pkg, nil
	}
	src, ok := fakePackages[path]
	if !ok {
		return nil, fmt.Errorf("the tests have no package %s", path)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, 0)
	if err != nil {
		return nil, err
	}
	pkg, err := (&types.Config{Importer: f}).Check(path, fset, []*ast.File{file}, nil)
	f[path] = pkg
	return pkg, err
}

// prelude is what the tests' functions find in their package.
const prelude = `package p

import (
	"context"
	"database/sql"
	"time"

	"example.com/conf"
	"example.com/uuid"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var _ context.Context
var _ sql.DB
var _ time.Time
var _ conf.Base
var _ uuid.UUID
var _ lockrt.Fence

const (
	TTL               = 30 * time.Second
	Bare              = 30
	Min               = time.Second * 90
	Zero time.Duration = 0
	Text              = "orders"
	Empty             = ""
	Braced            = "order:{id}"
	Spec              = "0 3 * * *"
	BadSpec           = "0 25 * * *"
	Tries             = 3
	Negative          = -3
)

type Named string
const NamedText Named = "x"
var Variable = time.Second
var Locks *lockrt.Locker
var NotLocks int
func function() {}

type (
	ID     int64
	SKU    string
	Flag   bool
	Bytes  []byte
	Point  struct{ X, Y int }
	Color  int
	PtrTxt struct{ x int }
	Texter interface{ MarshalText() ([]byte, error) }
	Ctx    = context.Context
	Inner  interface{ ~string }
	Keyish interface{ comparable; Inner }
	Mixed  interface{ Inner | ~bool }
	Stamp  struct{ time.Time }
)

func (Color) MarshalText() ([]byte, error)   { return nil, nil }
func (Color) String() string                 { return "" }
func (*PtrTxt) MarshalText() ([]byte, error) { return nil, nil }
func (Point) String() string                 { return "" }

type Customer struct {
	ID   ID
	Name *string
}

type Order struct {
	*Customer
	SKU   SKU
	Items []int
	At    time.Time
	Next  *Order
	inner struct{ code string }
}

func (o Order) Total() int { return 0 }

type Shop struct {
	name  string
	locks *lockrt.Locker
}
type Deep struct{ conf.Base; Shop *Shop }
type Two struct{ a, b *lockrt.Locker }
type Emb struct{ *Shop }
type Plain struct{ region string }
type Gen[K any] struct{ locks *lockrt.Locker; id K }
`

// bound type checks a function in the prelude's package and binds its directive. src is a directive and a function.
func bound(t *testing.T, src string, typed bool) (text string, fset *token.FileSet, f *Func, found []Problem) {
	t.Helper()
	text = prelude + "\n" + src + "\n"
	fset, file := parseSource(t, text)
	target := Target{File: file}
	if typed {
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
		pkg, err := (&types.Config{Importer: fakes{}, IgnoreFuncBodies: true}).Check("example.com/p", fset, []*ast.File{file},
			info)
		if err != nil {
			t.Fatalf("the test's source: %v\n%s", err, src)
		}
		target.Pkg, target.Info = pkg, info
	}
	annotated := Find(file).Funcs
	if len(annotated) != 1 {
		t.Fatalf("the test's source has %d directives:\n%s", len(annotated), src)
	}
	target.Decl = annotated[0].Decl
	for _, p := range annotated[0].Problems {
		t.Errorf("unexpected problem of parsing: %s", p.Message)
	}
	f, found = Bind(annotated[0].Directive, target)
	return text, fset, f, found
}
