package output

import (
	"go/build/constraint"
	"go/parser"
	"go/token"
	"testing"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
)

func parseSet(t *testing.T, name, src string) Set {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return SetOf(name, file)
}

func TestSet_outputName(t *testing.T) {
	for _, tt := range []struct{ name, src, output, build string }{
		{"a.go", "package a", "lock_gen.go", ""},
		{"linux.go", "package a", "lock_gen.go", ""},
		{"a_test.go", "package a", "lock_gen_test.go", ""},
		{"a_test.go", "package a_test", "lock_gen_ext_test.go", ""},
		{"a_linux.go", "package a", "lock_linux_gen.go", "linux"},
		{"a_linux.go", "//go:build linux\n\npackage a", "lock_linux_gen.go", "linux"},
		{"a_linux_arm64_test.go", "package a", "lock_linux_arm64_gen_test.go", "linux && arm64"},
		{"a_linux_x.go", "package a", "lock_gen.go", ""},
		{"a.go", "//go:build !windows\n\npackage a", "lock_not_windows_gen.go", "!windows"},
		{"a.go", "//go:build linux || darwin\n\npackage a", "lock_linux_or_darwin_gen.go", "linux || darwin"},
		{"a.go", "package a\n\nimport \"C\"\n", "lock_cgo_gen.go", "cgo"},
		{"a_windows.go", "//go:build big\n\npackage a", "lock_windows_big_gen.go", "windows && big"},
	} {
		s := parseSet(t, tt.name, tt.src)
		if got := s.FileName(false); got != tt.output || s.BuildText() != tt.build {
			t.Errorf("%s %q: %s under %q, want %s under %q", tt.name, tt.src, got, s.BuildText(), tt.output, tt.build)
		}
		if !Pattern.MatchString(s.FileName(false)) || !Pattern.MatchString(s.FileName(true)) {
			t.Errorf("%s is not recognized as output", s.FileName(false))
		}
		if constraints.OfName(s.FileName(false)) != nil {
			t.Errorf("the name %s constrains the file", s.FileName(false))
		}
	}
}

// TestSet_outputName_distinct: different constraints never share a file.
func TestSet_outputName_distinct(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"a && b", "a || b", "a && (b || c)", "a && b || c", "(a || b) && c", "a || b && c", "a_b", "A && b", "go1.21",
		"go121", "a.b", "ab", "not_a", "!a", "a_or_b",
	} {
		expr, err := constraint.Parse("//go:build " + text)
		if err != nil {
			t.Fatal(err)
		}
		name := Set{Constraint: expr}.FileName(false)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q share %s", text, other, name)
		}
		seen[name] = text
	}
}

func TestIsOutput(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		want          bool
	}{
		{"lock_gen.go", Header + "\n\npackage a\n", true},
		{"lock_gen.go", "", true},
		{"lock_gen.go", "package a\n", true},
		{"lock_gen.go", "<<<<<<< HEAD\n" + Header + "\n", true},
		{"lock_gen.go", "package a\n\nfunc broken( {", true},
		{"lock_gen.go", "package a\n\nfunc mine() {}\n", false},
		{"lock_gen.go", "// Package a is mine.\npackage a\n", false},
		{"lock_gen.go", "// mine\n", false},
		{"lock_gen.go", "module example.com/app\n", false},
		{"zz_locks.go", Header + "\n\npackage a\n", true}, // out=zz_locks
		{"zz_locks.go", "// Mine.\n\n" + Header + "\n\npackage a\n", false},
		{"shop.go", "package a\n", false},
		{"lock_linux_gen_test.go", Header + "\r\n", true},
	} {
		if got := Is(tt.name, []byte(tt.content)); got != tt.want {
			t.Errorf("isOutput(%s, %q) = %t", tt.name, tt.content, got)
		}
	}
}

// TestBuildLine: lines // +build count above the doc comment of a package and where no //go:build stands.
func TestBuildLine(t *testing.T) {
	for src, want := range map[string]string{
		"package a\n":                    "",
		"// +build linux\n\npackage a\n": "linux",
		"// Copyright\n\n// +build linux darwin\n// +build x\n\npackage a": "(linux || darwin) && x",
		"//go:build x\n// +build y\n\npackage a\n":                         "x",
		"// Package a is one.\n// +build ignore\npackage a\n":              "",
		"package a\n\n// +build linux\n\nfunc f() {}\n":                    "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Set{Constraint: constraints.Of("a.go", file)}).BuildText(); got != want {
			t.Errorf("%q is built for %q, want %q", src, got, want)
		}
	}
}
