package directive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// The function whose parameters the random templates use: one of each alphabet.
const collisionFunc = "package p\n\nfunc f(s string, i int, u uint8, b bool, p *string, l []int, q *int) {}\n"

// A sample is a value with its text before escaping. Two samples are the same value if same is.
type sample struct {
	same  string
	text  string
	empty bool // nil or "": only for optional placeholders
	raw   bool // written as it is
}

var nasty = []string{"a", "A", "-", ":", "1", "a:", ":a", "%", "%3A", "{", "}", "é", "\x00", "\xff", "x-1", "true", "0",
	"."}

// samples is values for a placeholder of a parameter, chosen to be confused with each other and with literals.
func samples(param string) []sample {
	var out []sample
	text := func(values ...string) {
		for _, v := range values {
			out = append(out, sample{same: v, text: v, raw: true})
		}
	}
	switch param {
	case "s":
		out = append(out, sample{same: "", text: "", empty: true})
		for _, v := range nasty {
			out = append(out, sample{same: v, text: v})
		}
	case "p":
		out = append(out, sample{same: "nil", empty: true, raw: true}, sample{same: "&", text: "%", empty: true, raw: true})
		for _, v := range nasty {
			out = append(out, sample{same: "&" + v, text: v})
		}
	case "q":
		out = append(out, sample{same: "nil", empty: true, raw: true})
		text("0", "-1", "1", "11")
	case "i":
		text("0", "1", "-1", "11", "-11", "10")
	case "u":
		text("0", "1", "11", "10", "110")
	case "b":
		text("true", "false")
	case "l":
		text("0", "1", "11")
	}
	return out
}

// render is the encoding as the documentation describes it, written anew: escape everything that is not unreserved.
func (s sample) render(hole *Placeholder) (same, text string) {
	switch {
	case s.empty && s.raw:
		return s.same, s.text
	case hole.Filter == FilterHash && s.text != "":
		sum := sha256.Sum256([]byte(s.text))
		return s.same, hex.EncodeToString(sum[:])
	case hole.Filter == FilterLower && strings.ToValidUTF8(s.text, "") == s.text:
		s = sample{same: strings.ToLower(s.same), text: strings.ToLower(s.text)}
	}
	if s.raw {
		return s.same, s.text
	}
	var b strings.Builder
	for _, c := range []byte(s.text) {
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return s.same, b.String()
}

// randomTemplate strings literals and placeholders together, mostly such that could be confused.
func randomTemplate(r *rand.Rand) string {
	literals := []string{"", "", "-", ":", ":", "x", "1", "%", "/", "{{", "}}", "A", "Z", "f", "-1:", ":1", "é"}
	holes := []string{"s", "s", "i", "u", "b", "p", "q", "len(l)"}
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	t := pick(literals)
	for range 1 + r.IntN(3) {
		hole := pick(holes)
		if r.IntN(4) == 0 {
			hole += "?"
		}
		if n := r.IntN(8); n == 0 {
			hole += "|hash"
		} else if n == 1 && (hole[0] == 's' || hole[0] == 'p') {
			hole += "|lower"
		}
		t += "{" + hole + "}" + pick(literals)
	}
	return t
}

// Whatever template is accepted, different values give different keys.
func TestCollision_acceptedTemplatesAreInjective(t *testing.T) {
	_, file := parseSource(t, collisionFunc)
	decl := funcOf(file)
	r := rand.New(rand.NewPCG(1, 2))
	accepted, refused := 0, 0
	for range 6000 {
		text := randomTemplate(r)
		d, found := Parse([]Line{{Pos: base, Text: "key=" + strconv.Quote(text) + ",ttl=30s"}})
		f, more := Bind(d, Target{File: file, Decl: decl})
		if len(found)+len(more) > 0 {
			refused++
			continue
		}
		if accepted++; accepted > 400 {
			break
		}
		if a, b, key := collide(f.Keys[0]); key != "" {
			t.Errorf("template %s was accepted, and %s and %s both give %q", text, a, b, key)
		}
	}
	if accepted < 300 || refused < 300 {
		t.Errorf("%d templates accepted, %d refused: the test says nothing", accepted, refused)
	}
}

// collide renders a key for all combinations of samples and returns two that are different and give the same key.
func collide(k *BoundKey) (a, b, key string) {
	type state struct{ same, text string }
	states := []state{{}}
	for _, part := range k.Parts {
		var next []state
		for _, s := range states {
			if part.Hole == nil {
				next = append(next, state{s.same, s.text + part.Text})
				continue
			}
			for _, v := range samples(part.Hole.Path[0].Name) {
				if v.empty && !part.Hole.Optional {
					continue
				}
				same, text := v.render(part.Hole)
				next = append(next, state{s.same + strconv.Quote(same) + " ", s.text + text})
			}
		}
		states = next
	}
	seen := map[string]string{}
	for _, s := range states {
		if other, ok := seen[s.text]; ok && other != s.same {
			return other, s.same, s.text
		}
		seen[s.text] = s.same
	}
	return "", "", ""
}
