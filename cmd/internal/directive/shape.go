package directive

import "strings"

// Shape is the key without the names of its values. For the order in which locks are taken, two keys of one shape count
// as the same lock. The shape of a constant is its text. The shape of a template is its text with {…} for each
// placeholder.
func (k *BoundKey) Shape() string {
	if k.Key.Const != nil {
		return k.Prefix()
	}
	var b strings.Builder
	for _, part := range k.Parts {
		if part.Hole == nil {
			b.WriteString(part.Text)
		} else {
			b.WriteString("{…}")
		}
	}
	return b.String()
}
