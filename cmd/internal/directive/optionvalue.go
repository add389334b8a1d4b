package directive

import "strconv"

// Written is the argument itself: what embeds it is an OptionValue's.
func (a Arg) Written() Arg { return a }

func (d *Duration) Constant() *ConstRef { return d.Const }
func (s *String) Constant() *ConstRef   { return s.Const }
func (i *Int) Constant() *ConstRef      { return i.Const }
func (k *Key) Constant() *ConstRef      { return k.Const }

// Constant is nil: a switch takes no constant.
func (b *Bool) Constant() *ConstRef { return nil }

// String is the value as it is written in a directive.
func (d *Duration) String() string {
	if d.Const != nil {
		return d.Const.String()
	}
	return d.text()
}

// text is the duration itself, also where a constant says it.
func (d *Duration) text() string {
	switch {
	case d.Forever:
		return "forever"
	case d.Value == 0:
		return "0"
	}
	return FormatDuration(d.Value)
}

func (s *String) String() string {
	if s.Const != nil {
		return s.Const.String()
	}
	return quoteValue(s.Value)
}

func (i *Int) String() string {
	if i.Const != nil {
		return i.Const.String()
	}
	return strconv.Itoa(i.Value)
}

func (b *Bool) String() string { return strconv.FormatBool(b.Value) }

func (k *Key) String() string {
	if k.Const != nil {
		return k.Const.String()
	}
	return quoteValue(k.Template.String())
}

func (d *Duration) isZero() bool { return d.Value == 0 && !d.Forever }
func (s *String) isZero() bool   { return s.Value == "" }
func (i *Int) isZero() bool      { return i.Value == 0 }
func (b *Bool) isZero() bool     { return !b.Value }
func (k *Key) isZero() bool      { return false }

func (d *Duration) clone() OptionValue {
	own := *d
	own.Const = own.Const.clone()
	return &own
}

func (s *String) clone() OptionValue {
	own := *s
	own.Const = own.Const.clone()
	return &own
}

func (i *Int) clone() OptionValue {
	own := *i
	own.Const = own.Const.clone()
	return &own
}

func (b *Bool) clone() OptionValue {
	own := *b
	return &own
}

func (k *Key) clone() OptionValue {
	own := *k
	own.Const = own.Const.clone()
	return &own
}

func (c *ConstRef) clone() *ConstRef {
	if c == nil {
		return nil
	}
	own := *c
	return &own
}
