package directive

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func parseSource(t testing.TB, src string) (*token.FileSet, *ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments)
	if err != nil {
		t.Fatalf("the test's source: %v\n%s", err, src)
	}
	return fset, file
}

// rebase moves problems from a file's positions to those that checkProblems expects.
func rebase(fset *token.FileSet, found []Problem) []Problem {
	for i := range found {
		found[i].Pos = base + token.Pos(fset.Position(found[i].Pos).Offset)
		found[i].End = base + token.Pos(fset.Position(found[i].End).Offset)
	}
	return found
}

const goodFile = `// Package p is about //lock: directives.
//
// Examples do not count:
//
//	//lock:key=order:{id},ttl=30s
//	lock:key=order:{id},ttl=30s
package p

// Plain has none.
func Plain() {}

// One has one line.
//
//lock:key=a:{id},ttl=30s
func One(id int) {}

// Two has two, with another directive between.
//
//lock:key=a:{id},ttl=30s
//go:noinline
//lock:wait=1s
func (t T) Two(id int) {}

//lock:key=a,ttl=30s
func three()

// lock: protects x, see lock.go.
// Lock: a word, key first.
// lock: wait=false means not to wait.
// The lock:key pattern, lock: key=value.
// lock: timeout is 5s
// lock:order:42
// lock:job
//lock: protects x
//lockdown
//locker: key=a
// locks key=a, ttl=b
// lock.key=a
// unlock:key=a
// @lock: protects y
// @lock the mutex
// +lock
/// lock: protects z
// // lock the mutex
//  lock: protects x
/* lock: protects y */
/* lock: key
   ttl: value */
type T struct {
	mu int // lock: order is mu, then n
}

// Save writes.
//
//lock:fenced
func (t T) Save(fence uint64) {
	// lock: ttl of the caller
	_ = "//lock:key=a"
}

/*
Load is documented in a block, with an example:

 lock:key=a,ttl=30s
*/
func (t T) Load() {}

// Store is documented with examples.
//
//  lock:key=a,ttl=30s
//  lock:key=b,ttl=30s
//
//   //lock:key=c,ttl=30s
//
// //lock:key=d,ttl=30s
// func (t T) saveLocked() {}
func (t T) Store() {}

// //lock:key=a,ttl=30s
// ///lock:key=a,ttl=30s

type store interface {
	//lock:fenced
	Put(fence uint64)
}

//lock:fenced
var sink func()
`

func TestFind_goodFile(t *testing.T) {
	_, file := parseSource(t, goodFile)
	found := Find(file)
	for _, p := range found.Problems {
		t.Errorf("unexpected problem: %s", p.Message)
	}
	var names []string
	for _, f := range found.Funcs {
		names = append(names, f.Decl.Name.Name+" "+f.Directive.String())
		for _, p := range f.Problems {
			t.Errorf("unexpected problem of %s: %s", f.Decl.Name.Name, p.Message)
		}
	}
	want := "One //lock:key=a:{id},ttl=30s; Two //lock:key=a:{id},ttl=30s,wait=1s; three //lock:key=a,ttl=30s"
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if len(found.Fenced) != 3 {
		t.Fatalf("found %d fenced marks, want 3", len(found.Fenced))
	}
	if _, ok := found.Fenced[0].Node.(*ast.FuncDecl); !ok {
		t.Errorf("the first mark stands on a %T, want a function", found.Fenced[0].Node)
	}
	if _, ok := found.Fenced[1].Node.(*ast.Field); !ok {
		t.Errorf("the second mark stands on a %T, want a method of an interface", found.Fenced[1].Node)
	}
}

var findErrors = []struct {
	name, in string
	wants    []want
	fixed    string // of the line with the first mark
}{
	{"detached", "‹//lock:key=a,ttl=30s›\n\nfunc F() {}",
		[]want{{"misplaced", "locks nothing", "a blank line separates it from function F"}}, ""},
	{"two lines, one problem", "‹//lock:key=a,ttl=30s\n//lock:wait=1s›\n\nfunc F() {}", []want{{"misplaced"}}, ""},
	{"detached from a doc comment", "‹//lock:key=a,ttl=30s›\n\n// F is a function.\nfunc F() {}",
		[]want{{"misplaced", "a blank line"}}, ""},
	{"type", "‹//lock:key=a,ttl=30s›\ntype T int", []want{{"misplaced", "above a declaration of a type"}}, ""},
	{"type in a group", "type (\n\t‹//lock:key=a,ttl=30s›\n\tT int\n)", []want{{"misplaced", "at type T"}}, ""},
	{"var", "‹//lock:key=a,ttl=30s›\nvar x = func() {}", []want{{"misplaced", "a variable"}}, ""},
	{"const", "‹//lock:key=a,ttl=30s›\nconst x = 1", []want{{"misplaced", "a constant"}}, ""},
	{"import", "‹//lock:key=a,ttl=30s›\nimport _ \"fmt\"", []want{{"misplaced", "an import"}}, ""},
	{"interface", "type I interface {\n\t‹//lock:key=a,ttl=30s›\n\tF()\n}",
		[]want{{"misplaced", "at method F of an interface"}}, ""},
	{"field", "type S struct {\n\tx int ‹//lock:key=a,ttl=30s›\n}", []want{{"misplaced", "at field x"}}, ""},
	{"body", "func F() {\n\t‹//lock:key=a,ttl=30s›\n\t_ = 1\n}", []want{{"misplaced", "inside function F"}}, ""},
	{"behind the brace", "func F() { ‹//lock:key=a,ttl=30s›\n}", []want{{"misplaced", "inside function F"}}, ""},
	{"end of file", "func F() {}\n\n‹//lock:key=a,ttl=30s›", []want{{"misplaced", "it stands alone"}}, ""},
	{"fenced alone", "‹//lock:fenced›\n\nfunc F() {}", []want{{"misplaced", "marks nothing"}}, ""},
	{"fenced in a body", "func F() {\n\t‹//lock:fenced›\n}", []want{{"misplaced", "inside function F"}}, ""},

	{"blank before", "‹// lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike", "nothing is locked"}},
		"//lock:key=a,ttl=30s"},
	{"blank after", "‹//lock: key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"blank before the colon", "‹//lock :key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"both blanks", "‹// lock: key=a, ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a, ttl=30s"},
	{"capital", "‹//Lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"capitals", "‹// LOCK: KEY=a reentrant›\nfunc F() {}", []want{{"look-alike"}}, "//lock:KEY=a reentrant"},
	{"plural", "‹//locks:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"lockgen", "‹//lockgen:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"no colon", "‹//lock key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"bare key", "‹// lock:key›\nfunc F() {}", []want{{"look-alike"}}, ""},
	{"bare key without a blank before", "‹//lock: key›\nfunc F() {}", []want{{"look-alike"}}, ""},
	{"with prose behind", "‹// lock:key=order:{id} so that it is safe›\nfunc F() {}", []want{{"look-alike"}}, ""},
	{"block", "‹/*lock:key=a,ttl=30s*/›\nfunc F() {}", []want{{"look-alike"}}, ""},
	{"block of lines", "/*\nF is a function.\n\n‹//lock:key=a,ttl=30s›\n*/\nfunc F() {}", []want{{"look-alike"}}, ""},
	{"away from functions", "var x = 1 ‹// lock:key=a›", []want{{"look-alike"}}, ""},
	{"three slashes", "‹///lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike", "nothing is locked"}}, "//lock:key=a,ttl=30s"},
	{"three slashes, behind gofmt", "‹// /lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"four slashes", "‹////lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"commented out", "‹// //lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"commented out loosely", "// F is a function.\n//\n‹// // lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}},
		"//lock:key=a,ttl=30s"},
	{"commented out in a block", "‹/* //lock:key=a,ttl=30s */›\nfunc F() {}", []want{{"look-alike"}}, ""},
	{"two blanks", "‹//  lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"two blanks under text", "// F is a function.\n‹//   lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}},
		"//lock:key=a,ttl=30s"},
	{"annotation", "‹// @lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"annotation without a blank", "‹//@Lock: key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"marker", "‹// +lock:key=a,ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, "//lock:key=a,ttl=30s"},
	{"annotation of a package's defaults", "var x int\n\n‹// @lock:default ttl=30s›\n", []want{{"look-alike"}}, ""},
	{"second line", "//lock:key=a\n‹// lock:ttl=30s›\nfunc F() {}", []want{{"look-alike"}}, ""},
}

func TestFind_errors(t *testing.T) {
	for _, tt := range findErrors {
		t.Run(tt.name, func(t *testing.T) {
			text, spans := unmark(t, "package p\n\n"+tt.in+"\n")
			fset, file := parseSource(t, text)
			found := Find(file)
			for _, f := range found.Funcs {
				for _, p := range f.Problems {
					t.Errorf("unexpected problem of %s: %s", f.Decl.Name.Name, p.Message)
				}
			}
			start := fset.File(file.Pos()).Base()
			got := fixed(text, token.Pos(start), found.Problems)
			checkProblems(t, text, spans, tt.wants, rebase(fset, found.Problems))
			if tt.fixed != "" && !strings.Contains(got, "\n"+tt.fixed+"\n") {
				t.Errorf("the fix gives %q, want %q in it", got, tt.fixed)
			}
		})
	}
}

func TestFind_problemsOfFunctions(t *testing.T) {
	text, spans := unmark(t,
		"package p\n\n// F is a function.\n//\n//‹lock:›\nfunc F() {}\n\n//lock:key={‹a b›},ttl=‹30›\nfunc G() {}\n")
	text = strings.Replace(text, "{a b}", "{a-b}", 1)
	fset, file := parseSource(t, text)
	found := Find(file)
	if len(found.Funcs) != 2 {
		t.Fatalf("found %d functions, want 2", len(found.Funcs))
	}
	all := append(found.Funcs[0].Problems, found.Funcs[1].Problems...)
	checkProblems(t, text, spans, []want{{"empty"}, {"placeholder"}, {"duration"}}, rebase(fset, all))
}
