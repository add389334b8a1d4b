package render

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
)

// Render is the text of a generated file. There may be no problems: it takes for granted that everything is known.
func Render(from File) ([]byte, error) {
	o := newPlan(from)
	file := jen.NewFilePathName(o.pkg.Path(), o.pkg.Name())
	file.NoFormat = true // done below, once the imports are grouped
	o.imports.declare(file)
	file.Comment("// Undefined? Then the runtime package and this file belong to different versions of lockgen: run it " +
		"again.")
	file.Const().Id("_").Op("=").Qual(directive.RuntimePath, "IfUndefinedRunLockgenV3")
	for _, w := range o.wrappers {
		file.Line()
		w.render(file.Group)
	}
	for _, r := range o.jobs {
		file.Line()
		r.render(file.Group)
	}
	var body bytes.Buffer
	if err := file.Render(&body); err != nil {
		return nil, fmt.Errorf("lockgen: render %s: %w", o.path, err)
	}
	var text bytes.Buffer
	text.WriteString(output.Header + "\n\n")
	if o.build != "" {
		text.WriteString("//go:build " + o.build + "\n\n")
	}
	text.WriteString(groupImports(body.String()))
	source, err := format.Source(text.Bytes())
	if err != nil {
		return nil, fmt.Errorf(
			"lockgen: the code generated for %s is not Go, which is a bug in lockgen; please report it with the "+
				"function's signature: %w", o.path, err)
	}
	return sumUp(source)
}

// openSum stands in fingerprints until the declaration is there.
const openSum = "?"

// sumUp puts the sum of each declaration into its fingerprint.
func sumUp(source []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var text []byte
	done := 0
	for _, decl := range file.Decls {
		fd, ok := decl.(*ast.FuncDecl)
		if !ok || fd.Doc == nil {
			continue
		}
		last := fd.Doc.List[len(fd.Doc.List)-1]
		at := fset.Position(last.Pos()).Offset + len(directive.FingerprintMark)
		text = append(append(text, source[done:at]...), directive.CodeSum(fset, fd)...)
		done = at + len(openSum)
	}
	return append(text, source[done:]...), nil
}

// groupImports sets the standard library apart from the other imports, as people do. Jennifer writes one sorted block.
func groupImports(text string) string {
	before, rest, ok := strings.Cut(text, "import (\n")
	if !ok {
		return text
	}
	block, after, _ := strings.Cut(rest, "\n)")
	var std, other []string
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		path := line[strings.Index(line, `"`)+1:]
		if first, _, _ := strings.Cut(strings.TrimSuffix(path, `"`), "/"); strings.Contains(first, ".") {
			other = append(other, line)
		} else {
			std = append(std, line)
		}
	}
	groups := []string{strings.Join(std, "\n")}
	if len(other) > 0 {
		groups = append(groups, strings.Join(other, "\n"))
	}
	return before + "import (\n" + strings.Join(groups, "\n\n") + "\n)" + after
}
