package directive

import (
	"go/token"
	"go/types"
	"time"
)

// A Line is the text of one comment after "//lock:".
type Line struct {
	Pos  token.Pos // of the first character after "//lock:"
	Text string
}

// Pos is the position of the first line's "lock:".
func (d *Directive) Pos() token.Pos { return d.Lines[0].Pos - token.Pos(len("lock:")) }

// End is the end of the first line: the range from Pos is where problems of the directive as a whole are reported.
func (d *Directive) End() token.Pos { return d.Lines[0].Pos + token.Pos(len(d.Lines[0].Text)) }

// Renews reports whether the lease is renewed while the function runs.
func (d *Directive) Renews() bool { return d.Renew == nil || d.Renew.Value }

// SkipsBusy reports whether a wrapper that finds the lock held returns zero values and nil.
func (d *Directive) SkipsBusy() bool { return d.Busy != nil && d.Busy.Value == "skip" }

// An Arg is one name=value as written.
type Arg struct {
	Name               string
	Pos, End           token.Pos // of the whole argument
	ValuePos, ValueEnd token.Pos // of the value with its quotes; both End for a bare name
}

// A Duration is the value of an option such as ttl.
type Duration struct {
	Arg
	Value   time.Duration // written, or the constant's once Bind has resolved it
	Forever bool          // wait=forever; Value is 0
	Const   *ConstRef     // written as @Const: emit the reference, not Value
}

// A String is the value of an option such as cron or busy, unquoted.
type String struct {
	Arg
	Value string    // written, or the constant's once Bind has resolved it
	Const *ConstRef // written as @Const; only cron, tz and job take one
}

// A Bool is the value of an option such as reentrant.
type Bool struct {
	Arg
	Value bool
}

// An Int is the value of an option such as retries.
type Int struct {
	Arg
	Value int       // written, or the constant's once Bind has resolved it
	Const *ConstRef // written as @Const
}

// A Key is the value of one key=: exactly one of Template and Const is set.
type Key struct {
	Arg
	Template *Template
	Const    *ConstRef // key=@Const: the text of a lock without parameters

	Mode    *String // "write" or "read"; nil means write
	Permits *Int    // how many hold the lock at a time; nil means that it is one for readers and writers
}

// Reads reports whether the lock is taken for reading, together with other readers.
func (k *Key) Reads() bool { return k.Mode != nil && k.Mode.Value == "read" }

// Limit is how many hold the lock at a time, 0 if it is one for readers and writers.
func (k *Key) Limit() int {
	if k.Permits == nil {
		return 0
	}
	return k.Permits.Value
}

// A ConstRef is a reference @Const or @pkg.Const to a Go constant.
type ConstRef struct {
	Pos, End token.Pos // with the @
	Pkg      string    // the qualifier as written in this file, "" if there is none
	Name     string

	// Object is the constant, set by Bind when there is type information. Its package says what to import; the
	// qualifier as written is only valid in the file that holds the directive.
	Object *types.Const
}

// String is the reference as written, with the @.
func (c *ConstRef) String() string {
	if c.Pkg != "" {
		return "@" + c.Pkg + "." + c.Name
	}
	return "@" + c.Name
}
