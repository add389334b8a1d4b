package directive

import (
	"fmt"
	"go/constant"
	"strings"
)

// A Pattern describes the texts that a key can be, and whether other keys may be the same on purpose. It needs neither
// syntax nor types, so it can pass from one package to another.
type Pattern struct {
	Template string        // as written, or @Const
	Const    string        // import path and name of the constant that the key is, "" for a template
	Parts    []PatternPart // of a constant its text
	Lease    string        // the lengths of the lease, without MinHold
	MinHold  string        // of the lease
	Reads    bool          // together with other readers
	Permits  int           // how many hold the lock at a time, 0 if it is one for readers and writers
	Shared   bool          // the function says that the lock is meant to be that of others
}

// A PatternPart is literal text, or a value.
type PatternPart struct {
	Text     string
	Type     string // of the value, with import paths; "" for text
	Kind     Kind
	Kinds    uint8 // what the values of a KindBasic may be
	Filter   Filter
	Optional bool // it may be written as nothing
	// MarksEmpty: a pointer to an empty text may be written as a lone percent sign.
	MarksEmpty bool
}

// Pattern is the pattern of a key. It is false if the key is not wholly known.
func (f *Func) Pattern(k *BoundKey) (Pattern, bool) {
	d := f.Directive
	p := Pattern{Template: k.Key.text(), Lease: d.lease(), Reads: k.Key.Reads(), Permits: k.Key.Limit(), Shared: d.Shared != nil}
	if d.MinHold != nil {
		p.MinHold = d.MinHold.text()
	}
	if ref := k.Key.Const; ref != nil {
		if ref.Object == nil {
			return p, false
		}
		p.Const = ref.Object.Pkg().Path() + "." + ref.Object.Name()
		p.Parts = []PatternPart{{Text: constant.StringVal(ref.Object.Val())}}
		return p, true
	}
	for _, part := range k.Parts {
		switch v := part.Value; {
		case part.Hole == nil:
			p.Parts = append(p.Parts, PatternPart{Text: part.Text})
		case v == nil:
			return p, false
		default:
			p.Parts = append(p.Parts, PatternPart{Type: v.TypeText(nil), Kind: v.Kind, Kinds: uint8(v.kinds),
				Filter: part.Hole.Filter, Optional: part.Hole.Optional && v.mayBeEmpty(), MarksEmpty: v.marksEmpty()})
		}
	}
	return p, true
}

// lease is what functions that share a lock on purpose agree on, in one text.
func (d *Directive) lease() string {
	var b strings.Builder
	for i := range options {
		o := &options[i]
		if !o.lease {
			continue
		}
		value := o.list.unset
		if v := o.given(d); v != nil {
			value = listed(v)
		}
		fmt.Fprintf(&b, "%v ", value)
	}
	return b.String()
}

// sameLease tells whether two functions agree on the lengths of their leases. Readers have no MinHold.
func (p *Pattern) sameLease(q *Pattern) bool {
	return p.Lease == q.Lease && (p.MinHold == q.MinHold || p.Reads || q.Reads)
}

// prefix is what every text of the key begins with.
func (p *Pattern) prefix() string {
	if len(p.Parts) > 0 && p.Parts[0].Type == "" {
		return p.Parts[0].Text
	}
	return ""
}

// automaton reads the texts of a key.
func (p *Pattern) automaton() *automaton {
	a := &automaton{}
	at := a.state()
	for _, part := range p.Parts {
		if part.Type == "" {
			at = a.text(at, part.Text)
		} else {
			at = part.read(a, at)
		}
	}
	return a
}

// sameKey tells whether two keys are one on purpose: both name the same constant, or both have the same template with
// values of the same types.
func (p *Pattern) sameKey(q *Pattern) bool {
	if p.Const != "" || q.Const != "" {
		return p.Const == q.Const
	}
	if p.Template != q.Template || len(p.Parts) != len(q.Parts) {
		return false
	}
	values := 0
	for i := range p.Parts {
		if p.Parts[i].Type != q.Parts[i].Type {
			return false
		}
		if p.Parts[i].Type != "" {
			values++
		}
	}
	return values > 0 // the same text twice may be a copy
}
