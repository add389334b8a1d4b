package directive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/printer"
	goscanner "go/scanner"
	"go/token"
	"go/types"
	"strings"
)

// A Fingerprint says what generated code was made from. Lockgen writes it behind the doc comment of each function that
// it declares; locklint compares it with that of the source. The sums are short digests: they tell equal from changed.
type Fingerprint struct {
	Code string // sum of the declaration itself

	// Of a wrapper only:
	Func      string   // the function that it calls
	Directive string   // with the defaults of the package, without what changes no code
	Signature string   // sum of how the function is declared
	Sources   string   // sum of where the Locker and the database of its transaction come from
	Values    []string // for each key: sum of how its values are read and encoded, "" if that is not known
}

// FingerprintMark starts the comment that holds a fingerprint. Tools that show documentation leave such comments out.
const FingerprintMark = "//lockgen:made "

// Fingerprint is what a wrapper of the function is made from. It lacks Code.
func (f *Func) Fingerprint() Fingerprint {
	p := Fingerprint{Func: f.Decl.Name.Name, Directive: f.Directive.made(), Signature: f.signatureSum(),
		Sources: f.sourcesSum()}
	for _, key := range f.Keys {
		p.Values = append(p.Values, key.valuesSum())
	}
	return p
}

// String is the fingerprint as a comment.
func (p Fingerprint) String() string {
	if p.Func == "" {
		return FingerprintMark + p.Code
	}
	sums := append([]string{p.Code, p.Signature, p.Sources}, p.Values...)
	return FingerprintMark + strings.Join(sums, ".") + " " + p.Func + " " + strings.TrimPrefix(p.Directive, "//lock:")
}

// ParseFingerprint reads the comment that String writes. It is false for other comments.
func ParseFingerprint(comment string) (Fingerprint, bool) {
	rest, ok := strings.CutPrefix(strings.TrimRight(comment, "\r"), FingerprintMark)
	if !ok {
		return Fingerprint{}, false
	}
	all, rest, isWrapper := strings.Cut(rest, " ")
	sums := strings.Split(all, ".")
	if !isWrapper {
		return Fingerprint{Code: all}, len(sums) == 1
	}
	name, args, ok := strings.Cut(rest, " ")
	if !ok || name == "" || len(sums) < 4 {
		return Fingerprint{}, false
	}
	return Fingerprint{Code: sums[0], Signature: sums[1], Sources: sums[2], Values: sums[3:], Func: name,
		Directive: "//lock:" + args}, true
}

// sum is a digest of values, short enough to stand in a comment.
func sum(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		fmt.Fprintf(h, "%v\x00", v)
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// signatureSum is about what the wrapper repeats of the declaration, and how it treats the parameters.
func (f *Func) signatureSum() string {
	parts := []any{f.AddsError, types.ExprString(f.Decl.Type)}
	for _, list := range []*ast.FieldList{f.Decl.Recv, f.Decl.Type.TypeParams} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for _, name := range field.Names {
				parts = append(parts, name.Name)
			}
			parts = append(parts, types.ExprString(field.Type))
		}
	}
	for _, p := range f.Params {
		parts = append(parts, p.Role, p.Key)
	}
	return sum(parts...)
}

// sourcesSum is about where the wrapper gets what callers do not pass.
func (f *Func) sourcesSum() string {
	var parts []any
	for _, source := range []*Source{&f.Locker, f.Tx} {
		if source == nil {
			continue
		}
		pkg := ""
		if source.Pkg != nil {
			pkg = source.Pkg.Path()
		}
		parts = append(parts, source.From, source.Param, source.Var, pkg, source.Fields)
	}
	return sum(parts...)
}

// valuesSum is about what a key's text leaves open.
func (k *BoundKey) valuesSum() string {
	if ref := k.Key.Const; ref != nil {
		if ref.Object == nil {
			return ""
		}
		return sum(ref.Object.Pkg().Path(), ref.Object.Name())
	}
	var parts []any
	for _, part := range k.Parts {
		if part.Hole == nil {
			continue
		}
		v := part.Value
		if v == nil {
			return ""
		}
		parts = append(parts, v.From, v.Param, v.Steps, v.Kind, v.Deref, v.Addr, v.kinds, v.fixed(false))
	}
	return sum(parts...)
}

// CodeSum is the sum of a generated declaration, its doc comment and its layout left out.
func CodeSum(fset *token.FileSet, decl *ast.FuncDecl) string {
	bare := *decl
	bare.Doc = nil
	var text bytes.Buffer
	if err := printer.Fprint(&text, fset, &bare); err != nil {
		return ""
	}
	var s goscanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, text.Len()), text.Bytes(), nil, 0)
	var parts []any
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return sum(parts...)
		case token.SEMICOLON: // most stand for the end of a line
		default:
			parts = append(parts, tok, lit)
		}
	}
}
