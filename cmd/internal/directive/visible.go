package directive

import "unicode"

// ignorable are characters that count as letters or marks and draw nothing of their own.
var ignorable = []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// invisible tells whether logs and tools show nothing for a character, or take it for an order, such as to write from the
// right to the left: control and format characters, line separators, and all blanks but the usual one.
func invisible(r rune) bool { return !unicode.IsPrint(r) || unicode.In(r, ignorable...) }
