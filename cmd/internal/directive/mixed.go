package directive

// Mixed tells whether the keys are not all held in the same way.
func (d *Directive) Mixed() bool {
	for _, k := range d.Keys {
		if k.Reads() != d.Keys[0].Reads() || k.permitsText() != d.Keys[0].permitsText() {
			return true
		}
	}
	return false
}

func (k *Key) permitsText() string {
	if k.Permits == nil {
		return ""
	}
	return k.Permits.String()
}
