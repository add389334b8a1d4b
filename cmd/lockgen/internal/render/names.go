package render

import (
	"go/token"
	"go/types"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// names hands out identifiers that nothing else in a scope uses. Generated code introduces imports, parameters and
// locals among names that the user chose; every one of them comes from here, so that no user name can be captured.
type names map[string]bool

// reserve takes names as they are.
func (n names) reserve(all ...string) {
	for _, name := range all {
		n[name] = true
	}
}

// claim returns the first of the wanted names that is free, else the last one with a number, and takes it.
func (n names) claim(wanted ...string) string {
	for _, name := range wanted {
		if n.free(name) {
			n[name] = true
			return name
		}
	}
	last := wanted[len(wanted)-1]
	for i := 2; ; i++ {
		if name := last + strconv.Itoa(i); n.free(name) {
			n[name] = true
			return name
		}
	}
}

func (n names) free(name string) bool { return !n[name] && token.IsIdentifier(name) && name != "_" }

// local claims a name for something that generated code introduces. Where the user has a name for something else, ours
// steps aside: err becomes lockErr.
func (n names) local(name string) string { return n.claim(name, "lock"+upperFirst(name)) }

// param claims a name for a parameter that the user named. It is kept unless the wrapper's body needs the name for
// something else: time becomes timeArg.
func (n names) param(name string) string { return n.claim(name, name+"Arg") }

func upperFirst(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[size:]
}

// lowerFirst is a local's name for an exported one: Order gives order, ID gives id, HTTPClient gives httpClient.
func lowerFirst(s string) string {
	runes := []rune(s)
	for i, r := range runes {
		if !unicode.IsUpper(r) || i > 0 && i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			break
		}
		runes[i] = unicode.ToLower(r)
	}
	return string(runes)
}

// isPredeclared tells whether a name has a meaning everywhere. Imports stay away from all of those.
func isPredeclared(name string) bool { return types.Universe.Lookup(name) != nil }
