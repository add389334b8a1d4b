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

// values are what the option is set to: none if it was not given, several only for keys.
func (o *option) values(d *Directive) []OptionValue {
	if o.slot == nil {
		values := make([]OptionValue, len(d.Keys))
		for i, k := range d.Keys {
			values[i] = k
		}
		return values
	}
	if v := o.slot(d).get(); v != nil {
		return []OptionValue{v}
	}
	return nil
}

// given is what the option is set to, the first of several; nil if it was not given.
func (o *option) given(d *Directive) OptionValue {
	if values := o.values(d); len(values) > 0 {
		return values[0]
	}
	return nil
}

// store puts what was read in its place.
func (o *option) store(d *Directive, v OptionValue) {
	if k, ok := v.(*Key); ok {
		d.Keys = append(d.Keys, k)
		return
	}
	o.slot(d).set(v)
}
