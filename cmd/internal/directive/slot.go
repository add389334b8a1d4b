package directive

// A slot is the field of a Directive that holds an option.
type slot interface {
	get() OptionValue // nil if the option was not given
	set(OptionValue)
}

type slotOf[T interface {
	comparable
	OptionValue
}] struct{ in *T }

func field[T interface {
	comparable
	OptionValue
}](in *T) slot {
	return slotOf[T]{in}
}

func (s slotOf[T]) get() OptionValue {
	var none T
	if *s.in == none {
		return nil
	}
	return *s.in
}

func (s slotOf[T]) set(v OptionValue) { *s.in = v.(T) }

// values are what the option is set to: none if it was not given, several only for keys and for what each has of its
// own.
func (o *option) values(d *Directive) []OptionValue {
	var values []OptionValue
	for _, k := range o.owners(d) {
		if v := o.of(d, k); v != nil {
			values = append(values, v)
		}
	}
	return values
}

// owners are what has the option: each key, or the directive as a whole, which is nil.
func (o *option) owners(d *Directive) []*Key {
	if o.perKey() {
		return d.Keys
	}
	return []*Key{nil}
}

// perKey reports whether each key has the option, so that it may be given several times.
func (o *option) perKey() bool { return o.kind == kindKey || o.ofKey != nil }

// of is what the option is set to, for an option of keys at one of them; nil if it was not given.
func (o *option) of(d *Directive, k *Key) OptionValue {
	switch {
	case o.kind == kindKey:
		return k
	case o.ofKey != nil:
		return o.ofKey(k).get()
	}
	return o.slot(d).get()
}

// given is what the option is set to, the first of several; nil if it was not given.
func (o *option) given(d *Directive) OptionValue {
	if values := o.values(d); len(values) > 0 {
		return values[0]
	}
	return nil
}

// store puts what was read in its place. What a key has of its own is [reader.ownOption]'s.
func (o *option) store(d *Directive, v OptionValue) {
	if k, ok := v.(*Key); ok {
		d.Keys = append(d.Keys, k)
		return
	}
	o.slot(d).set(v)
}
