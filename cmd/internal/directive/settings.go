package directive

import "iter"

// An OptionValue is what an option is set to: a *Key, *Duration, *String, *Bool or *Int.
type OptionValue interface {
	// Written is the argument that says so. Its positions are those of a package's default where that applies.
	Written() Arg
	// Constant is the Go constant that is named, nil if the value is written out.
	Constant() *ConstRef
	// String is the value as directives write it.
	String() string

	isZero() bool       // the field of generated code has it anyway
	clone() OptionValue // with a reference to a constant of its own
}

// A Setting is an option that a directive gives, or that the defaults of its package do.
type Setting struct {
	Name  string // of the option
	Value OptionValue
	Word  bool // the value is one of a few words
	Sets  Field
}

// Settings walks over the options of a directive, in the order of the documentation, with keys as they were written.
// Each setting has the option's value, the constant that it names, the field that it becomes, and how lists show it. So
// neither command knows options by name, except those whose Field is of NoStruct.
func (d *Directive) Settings() iter.Seq[Setting] {
	return func(yield func(Setting) bool) {
		for i := range options {
			o := &options[i]
			for _, v := range o.values(d) {
				if !yield(Setting{Name: o.name, Value: v, Word: o.kind == kindWord, Sets: o.sets}) {
					return
				}
			}
		}
	}
}

// Constants are the Go constants that a directive names.
func (d *Directive) Constants() []*ConstRef {
	var refs []*ConstRef
	for s := range d.Settings() {
		if ref := s.Value.Constant(); ref != nil {
			refs = append(refs, ref)
		}
	}
	return refs
}

// A Struct is the struct of generated code that an option sets a field of.
type Struct uint8

const (
	NoStruct    Struct = iota // none: the generator has code of its own for the option
	LockOptions               // lockrt.Options
	Job                       // jobs.Job
)

// A Field is what an option becomes in generated code. Words are constants of the struct's package: the field's name
// with the word behind it.
type Field struct {
	Of       Struct
	Name     string // "" if the generator writes it also where the option is not given
	Opposite bool   // true sets it to false, which is its zero value
	declared bool
}

// byHand is the field of options that are none: the generator has code for each.
var byHand = Field{declared: true}

func lockField(name string) Field { return Field{Of: LockOptions, Name: name, declared: true} }

func unlessLockField(name string) Field {
	return Field{Of: LockOptions, Name: name, Opposite: true, declared: true}
}

func jobField(name string) Field { return Field{Of: Job, Name: name, declared: true} }

// Zero reports whether the field of generated code has this value anyway.
func (s Setting) Zero() bool {
	if b, ok := s.Value.(*Bool); ok {
		return b.Value == s.Sets.Opposite
	}
	return s.Value.Constant() == nil && s.Value.isZero()
}

// A listing says how lists show an option: under its name, if it is given.
type listing struct {
	elsewhere bool // under another name, with what the generator makes of it
	unset     any  // what is shown if it is not given; nil for nothing
}

// A Listed is an option as lists show it: durations and words as text, switches as bool, numbers as int.
type Listed struct {
	Name  string
	Value any
}

// List is what lists show of the options of locks or, with job, of those of jobs.
func (d *Directive) List(job bool) []Listed {
	var all []Listed
	for i := range options {
		o := &options[i]
		if o.list.elsewhere || o.cron != job {
			continue
		}
		value := o.list.unset
		if v := o.given(d); v != nil {
			value = listed(v)
		}
		if value != nil {
			all = append(all, Listed{o.name, value})
		}
	}
	return all
}

// listed is a value with constants replaced by what they are worth.
func listed(v OptionValue) any {
	switch v := v.(type) {
	case *Bool:
		return v.Value
	case *Int:
		return v.Value
	case *String:
		return v.Value
	case *Duration:
		return v.text()
	}
	return v.String()
}
