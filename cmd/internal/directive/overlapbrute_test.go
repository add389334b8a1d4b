package directive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// bruteFunc has a parameter for each way in which a value is written.
const bruteFunc = "f[T ~string | ~int](s string, p *string, i int, u uint8, b bool, q *int64, r *bool, l []int, m T)"

var bruteStrings = []string{"", "a", "A", "1", "-1", "-", "%", "s", "s1", "%s1", ":", "é", "true", "0", "01", "1:", "."}

// bruteParts are the parts of keys that runtime itself makes of small values of a parameter, before ? and filters.
func bruteParts(param string) []lockrt.KeyPart {
	var parts []lockrt.KeyPart
	add := func(part lockrt.KeyPart) { parts = append(parts, part) }
	for _, s := range bruteStrings {
		switch param {
		case "s":
			add(lockrt.KeyString("v", s))
		case "p":
			add(lockrt.KeyPtr("v", &s, lockrt.KeyString))
		case "m":
			add(lockrt.KeyBasic("v", s))
		}
	}
	for _, n := range []int64{0, 1, -1, 10, 11, -11, 7} {
		switch param {
		case "i", "m":
			add(lockrt.KeyInt("v", n))
		case "q":
			add(lockrt.KeyPtr("v", &n, lockrt.KeyInt))
		case "u", "len(l)":
			if n >= 0 {
				add(lockrt.KeyUint("v", uint64(n)))
			}
		}
	}
	for _, b := range []bool{true, false} {
		switch param {
		case "b":
			add(lockrt.KeyBool("v", b))
		case "r":
			add(lockrt.KeyPtr("v", &b, lockrt.KeyBool))
		}
	}
	if strings.Contains("pqr", param) {
		add(lockrt.KeyNil("v"))
	}
	return parts
}

// bruteTexts are what BuildKey writes for small values of a placeholder.
func bruteTexts(hole *Placeholder) []string {
	var texts []string
	param := hole.Path[0].Name
	if hole.Len {
		param = "len(l)"
	}
	for _, part := range bruteParts(param) {
		switch hole.Filter {
		case FilterHash:
			part = part.Hash()
		case FilterLower:
			part = part.Lower()
		}
		if hole.Optional {
			part = part.Optional()
		}
		if text, err := lockrt.BuildKey(part, lockrt.KeyText("$")); err == nil {
			texts = append(texts, strings.TrimSuffix(text, "$"))
		}
	}
	return texts
}

// A bruteKey is a template with the keys that small values give.
type bruteKey struct {
	template string
	bound    *BoundKey
	pattern  Pattern
	texts    map[string]bool
}

const maxBrute = 20_000

// bruteOf binds a template. It is nil if the template is refused, or gives more keys than are worth trying.
func bruteOf(t *testing.T, template string) (key *bruteKey, problems []Problem) {
	args := "key=" + strconv.Quote(template) + ",ttl=30s"
	if _, found := Parse([]Line{{Pos: base, Text: args}}); len(found) > 0 {
		return nil, found
	}
	_, _, f, found := bound(t, "//lock:"+args+"\nfunc "+bruteFunc+" {}", true)
	if len(found) > 0 {
		return nil, found
	}
	pattern, ok := f.Pattern(f.Keys[0])
	if !ok {
		t.Fatalf("%s: nothing is known", template)
	}
	texts := []string{""}
	for _, part := range f.Keys[0].Parts {
		tails := []string{part.Text}
		if part.Hole != nil {
			tails = bruteTexts(part.Hole)
		}
		if len(texts)*len(tails) > maxBrute {
			return nil, nil
		}
		var longer []string
		for _, text := range texts {
			for _, tail := range tails {
				longer = append(longer, text+tail)
			}
		}
		texts = longer
	}
	key = &bruteKey{template, f.Keys[0], pattern, map[string]bool{}}
	for _, text := range texts {
		key.texts[text] = true
	}
	return key, nil
}

// randomKey is a template of the brute function's parameters, mostly such that could be confused with others.
func randomKey(r *rand.Rand) string {
	literals := []string{":", "a", "1", ":a", ":1", "/", ":-", ":true", "-", "%", ":%", "%:", "s", ":s", "{{", "::", "0"}
	holes := []string{"s", "s", "p", "p", "i", "u", "b", "q", "r", "len(l)", "m"}
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	text := ""
	if r.IntN(5) < 3 {
		text = pick(literals)
	}
	for i := range r.IntN(3) {
		if i > 0 {
			text += pick(literals)
		}
		hole := pick(holes)
		if r.IntN(3) == 0 {
			hole += "?"
		}
		switch n := r.IntN(8); {
		case n == 0:
			hole += "|hash"
		case n == 1 && strings.Contains("sp", hole[:1]):
			hole += "|lower"
		}
		text += "{" + hole + "}"
	}
	if r.IntN(2) == 0 {
		text += pick(literals)
	}
	return text
}

// TestOverlap_bruteForce compares what is said of two keys with what package lockrt writes for small values: no collision is
// missed, and each example that is told is a key that both really build.
func TestOverlap_bruteForce(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(15, seed))
		var keys []*bruteKey
		for len(keys) < 60 {
			if key, _ := bruteOf(t, randomKey(r)); key != nil {
				keys = append(keys, key)
			}
		}
		overlaps := 0
		for i, a := range keys {
			for _, b := range keys[:i] {
				example, said := Overlap(a.pattern, b.pattern)
				common, real := sharedText(a.texts, b.texts)
				switch {
				case real && !said:
					t.Errorf("%s and %s can both be %q, and nothing is said", a.template, b.template, common)
				case said && !a.builds(example):
					t.Errorf("%s and %s: %q is told, which %s is never", a.template, b.template, example, a.template)
				case said && !b.builds(example):
					t.Errorf("%s and %s: %q is told, which %s is never", a.template, b.template, example, b.template)
				}
				if said {
					overlaps++
				}
			}
		}
		if overlaps < 20 {
			t.Errorf("seed %d: %d pairs overlap: the test says nothing", seed, overlaps)
		}
	}
}

// TestValue_mayContain_bruteForce: text behind a placeholder is refused for a character if and only if some value is written
// with it.
func TestValue_mayContain_bruteForce(t *testing.T) {
	for c := range 256 {
		bruteStrings = append(bruteStrings, string([]byte{byte(c)}))
	}
	t.Cleanup(func() { bruteStrings = bruteStrings[:len(bruteStrings)-256] })
	for _, name := range []string{"s", "p", "i", "u", "b", "q", "r", "len(l)", "m"} {
		for _, suffix := range []string{"", "?", "|lower", "?|lower", "|hash", "?|hash"} {
			key, found := bruteOf(t, "x:{"+name+suffix+"}")
			if len(found) > 0 && strings.HasSuffix(suffix, "lower") {
				continue // no string
			} else if key == nil {
				t.Fatalf("{%s%s} is refused: %v", name, suffix, found)
			}
			part := key.bound.Parts[1]
			all := strings.Join(bruteTexts(part.Hole), "")
			if strings.HasSuffix(suffix, "hash") {
				all += lowerHex
			} else if !strings.Contains("spbr", name) {
				all += digits // the brute numbers are few
			}
			for c := byte('!'); c <= '~'; c++ {
				if got, want := part.Value.mayContain(part.Hole, c), strings.IndexByte(all, c) >= 0; got != want {
					t.Errorf("{%s%s} may contain %q: %t, want %t", name, suffix, c, got, want)
				}
			}
		}
	}
}

func sharedText(a, b map[string]bool) (string, bool) {
	for text := range a {
		if b[text] {
			return text, true
		}
	}
	return "", false
}

// builds tells whether a key can be a text: it tries all ways to cut the text, and reads each value back from its part. A hash
// is taken to be possible if it looks like one.
func (k *bruteKey) builds(text string) bool { return buildsFrom(k.bound.Parts, text) }

func buildsFrom(parts []BoundPart, text string) bool {
	if len(parts) == 0 {
		return text == ""
	}
	if parts[0].Hole == nil {
		rest, ok := strings.CutPrefix(text, parts[0].Text)
		return ok && buildsFrom(parts[1:], rest)
	}
	for n := range len(text) + 1 {
		if writes(parts[0].Hole, text[:n]) && buildsFrom(parts[1:], text[n:]) {
			return true
		}
	}
	return false
}

// writes tells whether some value of a placeholder is written as a text: it makes values of the text, and has them written.
func writes(hole *Placeholder, text string) bool {
	if hole.Filter == FilterHash {
		sum, err := hex.DecodeString(text)
		return err == nil && len(sum) == sha256.Size && strings.ToLower(text) == text || text == "" && hole.Optional &&
			strings.Contains("spqrm", hole.Path[0].Name)
	}
	if canonical.MatchString(text) && strings.Contains("iquml", hole.Path[0].Name) {
		return text[0] != '-' || !strings.Contains("ul", hole.Path[0].Name) // whatever its size
	}
	for _, part := range candidates(hole, text) {
		if hole.Filter == FilterLower {
			part = part.Lower()
		}
		if hole.Optional {
			part = part.Optional()
		}
		if got, err := lockrt.BuildKey(part, lockrt.KeyText("$")); err == nil && got == text+"$" {
			return true
		}
	}
	return false
}

var canonical = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

func candidates(hole *Placeholder, text string) []lockrt.KeyPart {
	param := hole.Path[0].Name
	if hole.Len {
		param = "len(l)"
	}
	parts := bruteParts(param)
	plain := unescaped(strings.TrimPrefix(text, map[string]string{"m": "%s"}[param]))
	switch param {
	case "s":
		parts = append(parts, lockrt.KeyString("v", plain))
	case "p":
		parts = append(parts, lockrt.KeyPtr("v", &plain, lockrt.KeyString))
	case "m":
		parts = append(parts, lockrt.KeyBasic("v", plain))
	}
	return parts
}

// unescaped undoes percent escapes, and leaves what is none.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		var c byte
		if _, err := fmt.Sscanf(text[i:min(i+3, len(text))], "%%%02X", &c); err == nil && text[i] == '%' {
			b.WriteByte(c)
			i += 2
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
