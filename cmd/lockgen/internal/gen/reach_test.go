package gen

import (
	"context"
	"go/ast"
	"go/types"
	"os"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/load"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/load/decls"
)

// checkWhole checks packages and everything that they import, and leaves nothing out but function bodies.
func checkWhole() func(*decls.Checker, *packages.Package) (*types.Package, *types.Info) {
	done := map[*packages.Package]*types.Package{}
	return func(c *decls.Checker, p *packages.Package) (*types.Package, *types.Info) {
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Types: map[ast.Expr]types.TypeAndValue{}}
		return wholePackage(c, p, info, done), info
	}
}

func wholePackage(
	c *decls.Checker, p *packages.Package, info *types.Info, done map[*packages.Package]*types.Package,
) *types.Package {
	conf := types.Config{IgnoreFuncBodies: true, FakeImportC: true, DisableUnusedImportCheck: true, Sizes: c.Sizes,
		Error: func(error) {},
		Importer: importerFunc(func(path string) (*types.Package, error) {
			dep := p.Imports[path]
			switch {
			case path == "unsafe":
				return types.Unsafe, nil
			case dep == nil:
				return nil, os.ErrNotExist
			case dep.Types != nil:
				return dep.Types, nil
			case done[dep] == nil:
				done[dep] = wholePackage(c, dep, nil, done)
			}
			return done[dep], nil
		})}
	pkg, _ := conf.Check(p.PkgPath, c.Files.Fset, c.Files.ParseAll(p.GoFiles), info)
	pkg.MarkComplete()
	return pkg
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// generateWhole is generate with everything loaded and checked.
func generateWhole(t *testing.T, dir string) *Result {
	t.Helper()
	cfg := configFor(dir)
	cfg.adjust = func(from *load.Config) { from.AskAlways, from.Check = true, checkWhole() }
	result, err := Generate(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestReach_nothingIsMissing: each of these hides what decides about the wrapper behind declarations that have to be
// followed. The results are compared with those of all declarations.
func TestReach_nothingIsMissing(t *testing.T) {
	sameAsWhole(t, map[string]string{"kinds/kinds.go": kindsSource, "lockers/lockers.go": lockersSource,
		"use/use.go": useSource}, 1)
}

// TestReach_needsComeTogether: what one package needs of another is found out after less was thought to be enough.
func TestReach_needsComeTogether(t *testing.T) {
	sameAsWhole(t, map[string]string{
		"a/a.go": "package a\n\nimport \"time\"\n\n//lock:key=a:{t|unix},ttl=1s\nfunc aLocked(t time.Time) {}\n",
		"b/b.go": "package b\n\nimport \"time\"\n\nconst lease = 30 * time.Second\n\n//lock:key=b,ttl=@lease\nfunc " +
			"bLocked() {}\n",
	}, 2)
	sameAsWhole(t, map[string]string{
		"lockers/lockers.go": lockersSource,
		"a/a.go": "package a\n\nimport " +
			"\"example.com/app/lockers\"\n\n//lock:key=a,ttl=1s,locker=lockers.Default\nfunc aLocked() {}\n",
		"b/b.go": "package b\n\nimport \"example.com/app/lockers\"\n\ntype P struct{ *lockers.Pool " +
			"}\n\n//lock:key=b,ttl=1s\nfunc (P) bLocked() {}\n",
	}, 2)
}

// TestReach_pathsFoundLate: that a path leads through a field is found out after the field's struct was looked into.
func TestReach_pathsFoundLate(t *testing.T) {
	const source = `package a

import lockrt "github.com/lockgen/lockgen/runtime"

type Base struct{ L *lockrt.Locker }

type Inner struct{ Base }

type Pool struct{ Main *Inner }

var pool Pool

var Default = pool.Main

//lock:key=a,ttl=1s,locker=Default.L
func (p *Pool) runLocked() {}
`
	sameAsWhole(t, map[string]string{"a/a.go": source}, 1)
}

func sameAsWhole(t *testing.T, files map[string]string, outputs int) {
	t.Helper()
	dir := writeModule(t, files)
	want := generateWhole(t, dir)
	if len(want.Problems) > 0 || len(want.Files) != outputs {
		t.Fatalf("%d files, problems %v", len(want.Files), want.Problems)
	}
	for _, loadAll := range []bool{false, true} {
		got := generate(t, dir, loadAll)
		if len(got.Problems) > 0 || len(got.Files) != outputs {
			t.Fatalf("loadAll=%t: %d files, problems %v", loadAll, len(got.Files), got.Problems)
		}
		for i, f := range got.Files {
			if string(f.Want) != string(want.Files[i].Want) {
				t.Errorf("loadAll=%t: %s\nwith all declarations:\n%s", loadAll, f.Want, want.Files[i].Want)
			}
		}
	}
}

const kindsSource = `package kinds

import "time"

type Base struct{ Key string; Deep *Inner }
type Inner struct{ Ref ref; Tags map[string][]Level }
type ref = Level
type Level uint8
type From Base
type Alias = *From
type Mail string
func (m mail) String() string { return string(m) }
type mail = Mail
type Text struct{ n int }
func (t *Text) MarshalText() ([]byte, Err) { return nil, nil }
type Err = error
type Texter interface{ texter }
type texter interface{ MarshalText() ([]byte, error); Other(Base) Level }
type Number interface{ small | ~int64 }
type small interface{ ~int | ~int8 }
type Box[K Number, V any] struct{ ID K; V V }
type Pair[A any] struct{ *Box[int, A]; First A }
type IDs [size]string
const size = len(sample.xs) + 1
var sample struct{ xs [3]int }
const (
	a time.Duration = (iota + 1) * unit
	Wait
)
const unit = 2 * time.Second
type Out struct{ Of struct{ A struct{ B Mail } } }
`

const lockersSource = `package lockers

import lockrt "github.com/lockgen/lockgen/runtime"

type L = lockrt.Locker
type Ptr = *L
type Holder struct{ In }
type In struct{ Mine Ptr; rest map[string]func(chan L) }
type Pool struct{ main Ptr }
func (p *Pool) For(name string) Ptr { return p.main }
func New() *Pool { return nil }
var Default = New().For("x")
var Made = func() struct{ Lock Ptr } { return struct{ Lock Ptr }{} }()
var Both, Err = open()
func open() (Ptr, error) { return nil, nil }
var Lit = Holder{}
type Lease = *lockrt.Lease
`

const useSource = `package use

import (
	"context"
	"net/http"
	"net/netip"

	. "example.com/app/kinds"
	"example.com/app/lockers"
)

type shop struct{ lockers.Holder; req *http.Request; other Base }
type alias = shop
func (a *alias) taken() {}
type ctx = context.Context

//lock:key=a:{b.Key}:{b.Deep.Ref}:{len(b.Deep.Tags)},ttl=@Wait
func (s *alias) aLocked(b *Base) {}

//lock:key=b:{f.Deep.Ref}:{al.Key},ttl=1s,wait=@Wait
func (s shop) bLocked(c ctx, f From, al Alias) (x error) { return nil }

//lock:key=c:{m|string}:{t}:{i},ttl=1s,locker=lockers.Default
func cLocked(m Mail, t Text, i Texter) {}

//lock:key=d:{b.ID}/{p.First}/{p.ID},ttl=1s,locker=lockers.Made.Lock
func dLocked[K Number](b Box[K, http.Request], p Pair[string], l lockers.Lease) {}

//lock:key=e:{len(x)}:{o.Of.A.B},ttl=1s,locker=lockers.Both
func eLocked(x IDs, o Out) (a int, b Err) { return 0, nil }

//lock:key=f:{x}/{u.User.Name?}/{n},ttl=1s,locker=lockers.Lit.Mine
func fLocked(x netip.Addr, u struct{ User struct{ Name string } }, n interface{ MarshalText() ([]byte, error) }) {}

//lock:key=g:{r.URL.Path}:{r.TLS.Version},ttl=1s,locker=local
func gLocked(r *http.Request) {}

var local, _ = lockers.New().For(""), 1
`
