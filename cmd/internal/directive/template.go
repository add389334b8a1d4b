package directive

import "go/token"

// A Template is a parsed key template.
type Template struct {
	Pos, End token.Pos // of the value with its quotes
	Parts    []Part    // *Text and *Placeholder; no two adjacent Texts, no empty Text
}

// A Part is *Text or *Placeholder.
type Part interface {
	// Span is where the part stands. In a quoted value with escapes it spans the escapes.
	Span() (pos, end token.Pos)
}

// A Text is literal text of a key, with {{ and }} already read as { and }.
type Text struct {
	Pos, End token.Pos
	Value    string
}

// A Placeholder is {path}, {path?}, {path|filter} or {len(path)} with the same suffixes.
type Placeholder struct {
	Pos, End  token.Pos // with the braces
	Path      []Ident   // never empty: the parameter or receiver, then fields
	Len       bool
	Optional  bool
	Filter    Filter // FilterNone if there is none
	FilterPos token.Pos
}

// An Ident is one name of a path.
type Ident struct {
	Pos, End token.Pos
	Name     string
}

// A Filter changes how a placeholder's value becomes text.
type Filter string

const (
	FilterNone   Filter = ""
	FilterLower  Filter = "lower"  // strings and text, in lower case
	FilterHash   Filter = "hash"   // a digest in hexadecimal, for long or secret values
	FilterUnix   Filter = "unix"   // time.Time as seconds
	FilterText   Filter = "text"   // encoding.TextMarshaler, also where the value itself could be written
	FilterString Filter = "string" // fmt.Stringer
)

func (t *Text) Span() (pos, end token.Pos)        { return t.Pos, t.End }
func (p *Placeholder) Span() (pos, end token.Pos) { return p.Pos, p.End }
