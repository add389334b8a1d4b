package gen

import (
	"fmt"
	"strings"
)

// A shape turns bytes into a source file.
type shape struct {
	choices []byte
	used    map[string]bool
}

func (s *shape) next(n int) int {
	if len(s.choices) == 0 {
		return 0
	}
	b := int(s.choices[0])
	s.choices = s.choices[1:]
	return b % n
}

func pick[T any](s *shape, all []T) T { return all[s.next(len(all))] }

var shapeNames = strings.Fields("x ctx err locks lease leases key key1 ran time lockrt context errors jobs s arg1 " +
	"result order lockErr lockCtx lockKey " +
	"string error nil true false len Order id lockerr _ contextpkg timeArg t w T K int uint8 byte any panic ID probe " +
	"scheduler aLocked b")

var shapeTypes = strings.Fields("int string bool uint8 ID *ID *string []string map[string]*Order Order *Order " +
	"**Order chan<-Order func(ctx,err:int)error " +
	"c.Context d.Time d.Duration *d.Time r.Fence *r.Lease *r.Locker struct{ID;n:int} interface{M(int)error} [2]Order " +
	"error float64 Text *Text Box[int] *Box[Text] any func(...string)")

func (s *shape) typ() string {
	t := pick(s, shapeTypes)
	return strings.NewReplacer("ctx,err:", "ctx, err ", "n:int", "n int", "{ID;", "{ID; ").Replace(t)
}

// fresh is a name that the function does not have yet.
func (s *shape) fresh() string {
	name := pick(s, shapeNames)
	for name != "_" && s.used[name] {
		name += "2"
	}
	s.used[name] = true
	return name
}

const (
	shapeImports = "import (\n\tc \"context\"\n\tr \"github.com/lockgen/lockgen/runtime\"\n\td \"time\"\n)\n\nvar _ " +
		"c.Context\nvar _ d.Time\nvar _ r.Fence\n\n"
	shapeDecls = "type ID int64\n\ntype Text string\n\nfunc (t Text) MarshalText() ([]byte, error) { return nil, nil " +
		"}\n\n" +
		"type Order struct { ID ID; Owner *Order; Tags []string; err string }\n\ntype Box[T any] struct { Order; value T; " +
		"locks *r.Locker }\n\n" +
		"type Shop struct { *Order; l *r.Locker }\n\n"
)

// source is an archive: the functions stand in one file, the types that they use there or in another.
func (s *shape) source() string {
	layout := pick(s, []struct{ name, pkg, head, declsIn string }{
		{name: "a.go", pkg: "a"},
		{name: "a.go", pkg: "a", declsIn: "types.go"},
		{name: "a_test.go", pkg: "a", declsIn: "types.go"},
		{name: "a_test.go", pkg: "a", declsIn: "more_test.go"},
		{name: "a_test.go", pkg: "a_test"},
		{name: "a.go", pkg: "a", head: "//go:build go1.20 && !never\n\n", declsIn: "types.go"},
		{name: "a.go", pkg: "a", head: "// #include <stddef.h>\nimport \"C\"\n\ntype size C.size_t\n\n", declsIn: "types.go"},
	})
	var b strings.Builder
	before, after := layout.head, ""
	if strings.Contains(layout.head, "import") {
		before, after = "", layout.head
	}
	imports, others, _ := strings.Cut(shapeImports, "var")
	fmt.Fprintf(&b, "-- %s --\n%spackage %s\n\n%s%svar%s", layout.name, before, layout.pkg, imports, after, others)
	if layout.declsIn == "" {
		b.WriteString(shapeDecls)
	}
	// Whatever the package calls like something that generated code likes to use.
	top := pick(s, []string{"x0", "lockrt", "context", "time", "errors", "jobs", "contextpkg", "lockrtpkg", "ctx", "locks",
		"err", "key", "probe", "ran"})
	fmt.Fprintf(&b, "%s\n\n", fmt.Sprintf(pick(s, []string{"func %s() {}", "type %s int", "var %s = 1", "const %s = 2"}),
		top))
	for i := range 1 + s.next(3) {
		s.function(&b, i)
	}
	if layout.declsIn != "" {
		fmt.Fprintf(&b, "-- %s --\npackage a\n\n%s%s", layout.declsIn, shapeImports, shapeDecls)
	}
	return b.String()
}

func (s *shape) function(b *strings.Builder, i int) {
	s.used = map[string]bool{"c": true, "r": true, "d": true}
	recv := ""
	roots := []string{}
	switch s.next(6) {
	case 0, 1:
		name := s.fresh()
		recv = "(" + name + " *Shop) "
		roots = append(roots, name+".ID")
	case 2:
		recv = "(" + s.fresh() + " *Box[" + s.fresh() + "]) "
	case 3:
		recv = "(Order) "
	}
	typeParams := ""
	types := []string{}
	if recv == "" && s.next(3) == 0 {
		name := s.fresh()
		if name != "_" {
			types = append(types, name, "[]"+name)
		}
		typeParams = "[" + name + " " + pick(s,
			[]string{"any", "~string", "~string | ~int", "interface{ ~int; comparable }"}) + "]"
	}
	var params []string
	named := s.next(4) > 0
	for n := range s.next(5) {
		typ := s.typ()
		if len(types) > 0 && s.next(3) == 0 {
			typ = pick(s, types)
		}
		if n == 0 && s.next(2) == 0 {
			typ = "c.Context"
		}
		if !named {
			params = append(params, typ)
			continue
		}
		name := s.fresh()
		if name != "_" {
			roots = append(roots, name, name+".ID", name+".Owner.ID", "len("+name+")", name+"?", name+"|lower")
		}
		params = append(params, name+" "+typ)
	}
	if len(params) > 0 && s.next(4) == 0 {
		last := len(params) - 1
		if name, typ, ok := strings.Cut(params[last], " "); ok && named {
			params[last] = name + " ..." + typ
		}
	}
	key := fmt.Sprintf("k%d", i)
	if len(roots) > 0 {
		for range s.next(3) {
			key += ":{" + pick(s, roots) + "}"
		}
	}
	options := pick(s, []string{"", ",busy=skip", ",wait=1s", ",busy=skip,wait=2s", ",minhold=1s", "\n//lock:key=second",
		",cron=@daily", ",reentrant"})
	fmt.Fprintf(b, "//lock:key=%s,ttl=30s%s\nfunc %sf%dLocked%s(%s) %s { panic(0) }\n\n", key, options, recv, i,
		typeParams, strings.Join(params, ", "), s.results())
}

func (s *shape) results() string {
	var list []string
	named := s.next(2) == 0
	for range s.next(4) {
		typ := s.typ()
		if named {
			typ = s.fresh() + " " + typ
		}
		list = append(list, typ)
	}
	if s.next(2) == 0 {
		if named {
			list = append(list, s.fresh()+" error")
		} else {
			list = append(list, "error")
		}
	}
	return "(" + strings.Join(list, ", ") + ")"
}
