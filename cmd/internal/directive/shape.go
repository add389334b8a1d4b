package directive

import "strings"

// Shape is the key without what its values are called: two keys of one shape can be the same lock, as far as the order in
// which locks are taken goes. It is the text of a constant, and of a template the text with {…} for each placeholder.
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
