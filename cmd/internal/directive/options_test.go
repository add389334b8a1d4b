package directive

import "testing"

// TestOptions_sayWhatTheyBecome: a row that does not say what it becomes would be read and then do nothing. byHand says
// that the generator has code of its own.
func TestOptions_sayWhatTheyBecome(t *testing.T) {
	for _, o := range options {
		if !o.sets.declared {
			t.Errorf("%s: the row has no sets", o.name)
		}
		for _, c := range o.against {
			if optionNamed(c.with) == nil {
				t.Errorf("%s contradicts %s, which is no option", o.name, c.with)
			}
		}
	}
}
