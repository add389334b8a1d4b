package directive

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"unicode"
)

func funcOf(file *ast.File) *ast.FuncDecl {
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			return fn
		}
	}
	return nil
}

// seeds is every line that the table tests use.
func seeds(f *testing.F) {
	for _, tt := range parseErrors {
		f.Add(strings.ReplaceAll(strings.NewReplacer("‹", "", "›", "", "//lock:", "").Replace(tt.in), "//", ""))
	}
	f.Add("key={{{id}}}:cart:{len(items)?|hash},ttl=30s,wait=forever\nkey=\"a b\",cron=\"0 3 * * *\",tz=@conf.Zone")
}

// dump is all that a directive says, without positions and without going through its canonical form.
func dump(d *Directive) string {
	var b strings.Builder
	for _, k := range d.Keys {
		if k.Const != nil {
			fmt.Fprintf(&b, "key const %q %q\n", k.Const.Pkg, k.Const.Name)
			continue
		}
		for _, part := range k.Template.Parts {
			switch p := part.(type) {
			case *Text:
				fmt.Fprintf(&b, "text %q\n", p.Value)
			case *Placeholder:
				fmt.Fprintf(&b, "hole %t %t %q", p.Len, p.Optional, p.Filter)
				for _, id := range p.Path {
					fmt.Fprintf(&b, " %q", id.Name)
				}
				b.WriteString("\n")
			}
		}
		b.WriteString("end\n")
	}
	c := func(c *ConstRef) string {
		if c == nil {
			return ""
		}
		return fmt.Sprintf("%q %q", c.Pkg, c.Name)
	}
	for s := range d.Settings() {
		switch v := s.Value.(type) {
		case *Duration:
			fmt.Fprintln(&b, s.Name, int64(v.Value), v.Forever, c(v.Const))
		case *String:
			fmt.Fprintf(&b, "%s %q %s\n", s.Name, v.Value, c(v.Const))
		case *Bool:
			fmt.Fprintln(&b, s.Name, v.Value)
		case *Int:
			fmt.Fprintln(&b, s.Name, v.Value, c(v.Const))
		}
	}
	return b.String()
}

func fuzzLines(text string) (lines []Line, end token.Pos) {
	pos := base
	for _, line := range strings.Split(text, "\n") {
		pos += token.Pos(len("//lock:"))
		lines = append(lines, Line{Pos: pos, Text: line})
		pos += token.Pos(len(line) + 1)
	}
	return lines, pos - 1
}

// checkSound checks what holds for all problems, whatever the text.
func checkSound(t *testing.T, found []Problem, from, to token.Pos) {
	t.Helper()
	for i, p := range found {
		if p.Pos < from || p.End > to || p.Pos > p.End {
			t.Errorf("[%s] spans %d to %d, outside %d to %d", p.Slug, p.Pos, p.End, from, to)
		}
		if f := p.Fix; f != nil && (f.Pos < from || f.End > to || f.Pos > f.End) {
			t.Errorf("[%s] is fixed from %d to %d, outside %d to %d", p.Slug, f.Pos, f.End, from, to)
		}
		if slugs[p.Slug] == "" || p.Message == "" || strings.ContainsAny(p.Message, "\n\r") {
			t.Errorf("[%s] has the message %q", p.Slug, p.Message)
		}
		if i > 0 && found[i-1].Pos > p.Pos {
			t.Errorf("[%s] is out of order", p.Slug)
		}
	}
}

func FuzzParse(f *testing.F) {
	seeds(f)
	_, file, err := parseQuiet(collisionFunc)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, end := fuzzLines(text)
		d, found := Parse(lines)
		checkSound(t, found, base, end)
		_, more := Bind(d, Target{File: file, Decl: funcOf(file)})
		checkSound(t, more, base, end)
		if len(found) > 0 {
			return
		}
		printed := d.String()
		again, found := Parse([]Line{{Pos: base + 7, Text: strings.TrimPrefix(printed, "//lock:")}})
		if len(found) > 0 {
			t.Fatalf("%q prints as %s, which has problems: %v", text, printed, found)
		}
		if a, b := dump(d), dump(again); a != b {
			t.Errorf("%q says\n%s\nand as %s says\n%s", text, a, printed, b)
		}
		if again.String() != printed {
			t.Errorf("%s prints as %s", printed, again)
		}
	})
}

func parseQuiet(src string) (*token.FileSet, *ast.File, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments)
	return fset, file, err
}

// A directive means the same before and after gofmt.
func FuzzGofmt(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		var src strings.Builder
		src.WriteString("package p\n\n// F is a function.\n")
		for _, line := range strings.Split(text, "\n") {
			src.WriteString("//lock:" + line + "\n")
		}
		src.WriteString("// It has text behind the directive.\nfunc F() {}\n")
		fset, file, err := parseQuiet(src.String())
		if err != nil {
			return
		}
		before := Find(file)
		checkSound(t, before.Problems, file.FileStart, file.FileEnd)
		if len(before.Funcs) != 1 || len(before.Problems)+len(before.Funcs[0].Problems) > 0 {
			return
		}
		var out bytes.Buffer
		if err := format.Node(&out, fset, file); err != nil {
			return
		}
		_, file, err = parseQuiet(out.String())
		if err != nil {
			return
		}
		after := Find(file)
		if len(after.Funcs) != 1 || len(after.Problems)+len(after.Funcs[0].Problems) > 0 {
			t.Fatalf("gofmt breaks the directive:\n%s\nbecomes\n%s", src.String(), out.String())
		}
		if a, b := dump(before.Funcs[0].Directive), dump(after.Funcs[0].Directive); a != b {
			t.Errorf("gofmt turns\n%s\ninto\n%s", a, b)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, tt := range templateErrors {
		f.Add(strings.NewReplacer("‹", "", "›", "").Replace(tt.in))
	}
	f.Add("{{{a.b?|lower}}}:{len(c)|hash}")
	f.Fuzz(func(t *testing.T, text string) {
		end := base + token.Pos(len(text))
		tmpl, found := parseTemplate(value{text: text, base: base}, base, end)
		checkSound(t, found.sorted(), base, end)
		if len(found) > 0 {
			return
		}
		if got := tmpl.String(); got != text {
			t.Errorf("%q prints as %q", text, got)
		}
		at := base
		for _, part := range tmpl.Parts {
			pos, partEnd := part.Span()
			if pos != at {
				t.Errorf("a part of %q starts at %d, and the one before it ends at %d", text, pos-base, at-base)
			}
			at = partEnd
		}
		if at != end {
			t.Errorf("the parts of %q end at %d", text, at-base)
		}
	})
}

// A look-alike that is fixed is a directive, and a comment that is neither stays out of it.
func FuzzFind(f *testing.F) {
	for _, tt := range findErrors {
		line, _, _ := strings.Cut(strings.NewReplacer("‹", "", "›", "").Replace(tt.in), "\n")
		f.Add(strings.TrimPrefix(line, "//"))
	}
	for _, line := range strings.Split(goodFile, "\n") {
		if rest, ok := strings.CutPrefix(line, "//"); ok {
			f.Add(rest)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := "package p\n\n//" + text + "\nfunc F() {}\n"
		_, file, err := parseQuiet(src)
		if err != nil || strings.ContainsAny(text, "\n\r") {
			return
		}
		found := Find(file)
		checkSound(t, found.Problems, file.FileStart, file.FileEnd)
		for _, p := range found.Problems {
			if p.Slug != "look-alike" || p.Fix == nil {
				continue
			}
			fixedText := fixed(src, file.FileStart, []Problem{p})
			_, file, err := parseQuiet(fixedText)
			if err != nil {
				t.Fatal(err)
			}
			if again := Find(file); len(again.Funcs) != 1 {
				t.Errorf("%q is fixed to %q, which is no directive", src, fixedText)
			}
		}
		if len(found.Problems) == 0 && len(found.Funcs)+len(found.Fenced) == 0 && strings.HasPrefix(text, "lock:") {
			if rest := text[len("lock:"):]; rest != "" && !unicode.IsSpace([]rune(rest)[0]) {
				t.Errorf("%q is a directive and was not found", src)
			}
		}
	})
}
