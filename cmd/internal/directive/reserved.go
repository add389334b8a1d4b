package directive

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reserved reports names that go test or go vet expects something else behind than a wrapper.
func (b *binder) reserved() bool {
	switch {
	case b.isTest(b.fn()):
		b.whole("test", "go test runs %s, which takes no lock and may have no wrapper beside it: move what is to be locked to "+
			"a function of its own and call its wrapper from the test", b.fn())
	case b.isTest(b.f.Name):
		b.named("wrapper-name", "the wrapper of %s would be called %s, and go test would take it for one of its own: choose "+
			"another name with func=", b.fn(), b.f.Name)
	case b.Decl.Recv != nil && slices.Contains(standardMethods, b.f.Name):
		b.named("wrapper-name", "the wrapper of %s would be called %s, and go vet (stdmethods) wants that to have another "+
			"signature: choose another name with func=", b.fn(), b.f.Name)
	default:
		return false
	}
	return true
}

// isTest reports whether go test would call a function of this name, or complain about its signature.
func (b *binder) isTest(name string) bool {
	if b.Decl.Recv != nil || !strings.HasSuffix(b.Filename, "_test.go") {
		return false
	}
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			first, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(first)
		}
	}
	return false
}

// standardMethods are the names that go vet (stdmethods) wants one signature of, whatever the parameters. No wrapper has
// it: a context comes first.
var standardMethods = strings.Fields("GobDecode GobEncode MarshalJSON MarshalXML ReadByte ReadRune UnmarshalJSON " +
	"UnmarshalXML UnreadByte UnreadRune WriteByte Is As Unwrap")
