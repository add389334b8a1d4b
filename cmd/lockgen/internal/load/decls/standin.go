package decls

import (
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/internal/directive"
)

// StandIns take the place of packages whose declarations have not been read. Every name of theirs that is needed is a type
// with nothing in it, which is wrong about most and yet enough to tell it from a context, a lease, a locker and an
// error. The few names that directives treat on their own are as they really are. Where a lister puts them and a key
// reads anything of such a type, it is refused and looked at again with the real one.
type StandIns struct {
	packages map[string]*types.Package
}

// NewStandIns holds none yet.
func NewStandIns() *StandIns { return &StandIns{map[string]*types.Package{}} }

// standard are the first elements of the import paths of the standard library.
var standard = wordSet("archive bufio bytes cmp compress container context crypto database debug embed encoding errors " +
	"expvar " +
	"flag fmt go hash html image index io iter log maps math mime net os path plugin reflect regexp runtime slices sort " +
	"strconv strings structs sync syscall testing text time unicode unique unsafe weak")

// IsStandard tells whether an import path is one of the standard library.
func IsStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return standard[first]
}

var timeUnits = map[string]time.Duration{"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond,
	"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// Of is the stand-in of a package, to be filled.
func (s *StandIns) Of(path string) *types.Package {
	if pkg := s.packages[path]; pkg != nil {
		return pkg
	}
	pkg := types.NewPackage(path, directive.LikelyName(path))
	s.packages[path] = pkg
	switch path {
	case "context":
		declare(pkg, "Context", types.NewInterfaceType(nil, nil))
	case "time":
		duration := declare(pkg, "Duration", types.Typ[types.Int64])
		for name, value := range timeUnits {
			pkg.Scope().Insert(types.NewConst(token.NoPos, pkg, name, duration, constant.MakeInt64(int64(value))))
		}
	case directive.RuntimePath:
		declare(pkg, "Fence", types.Typ[types.Uint64])
	}
	return pkg
}

func declare(pkg *types.Package, name string, underlying types.Type) *types.Named {
	object := types.NewTypeName(token.NoPos, pkg, name, nil)
	pkg.Scope().Insert(object)
	return types.NewNamed(object, underlying, nil)
}

// Exact tells whether a stand-in has a name as it really is.
func Exact(path, name string) bool {
	switch path {
	case "context":
		return name == "Context"
	case "time":
		_, ok := timeUnits[name]
		return ok
	}
	return path == directive.RuntimePath && name == "Fence"
}

// Plain tells whether a type of the standard library is known to hold nothing that may not be copied.
func Plain(path, name string) bool { return path == "time" && name == "Time" || Exact(path, name) }

// fill declares what is needed of a package, each name as a type.
func (n *need) fill(pkg *types.Package) *types.Package {
	for name := range n.depths {
		if pkg.Scope().Lookup(name) != nil {
			continue
		}
		named := declare(pkg, name, types.NewStruct(nil, nil))
		var params []*types.TypeParam
		for i := range n.args[name] {
			param := types.NewTypeName(token.NoPos, pkg, "T"+strconv.Itoa(i+1), nil)
			params = append(params, types.NewTypeParam(param, types.Universe.Lookup("any").Type()))
		}
		named.SetTypeParams(params)
	}
	return pkg
}

func wordSet(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}
