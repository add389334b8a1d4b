package directive

// An owned value is what a line says of one of its keys.
type owned struct {
	o *option
	v OptionValue
}

// store puts what was read in its place. What a key has of its own belongs to the key before it on its line. Where it
// comes first, it belongs to the key that follows.
func (p *reader) store(o *option, v OptionValue) {
	switch k, isKey := v.(*Key); {
	case o.ofKey != nil && p.key == nil:
		p.early = append(p.early, owned{o, v})
	case o.ofKey != nil:
		p.give(p.key, owned{o, v})
	case isKey:
		p.key = k
		for _, v := range p.early {
			p.give(k, v)
		}
		p.early = nil
		fallthrough
	default:
		o.store(p.d, v)
	}
}

func (p *reader) give(k *Key, v owned) {
	slot := v.o.ofKey(k)
	if slot.get() != nil {
		a := v.v.Written()
		p.add(a.Pos, a.End, "option-repeat", "%s is given twice for one key: keep one", a.Name)
		return
	}
	slot.set(v.v)
}

// endLine finds the key of what a line without one says. There must be only one that it can mean.
func (p *reader) endLine() {
	for _, v := range p.early {
		a := v.v.Written()
		switch n := len(p.d.Keys); {
		case p.key != nil: // a key that is reported
		case n == 1:
			p.give(p.d.Keys[0], v)
		case n > 1:
			p.add(a.Pos, a.End, "key-option", "%s says how one of %d keys is locked, and its line has none: write it on the line "+
				"of its key", a.Name, n)
		}
	}
	p.key, p.early = nil, nil
}
