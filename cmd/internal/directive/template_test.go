package directive

import (
	"strings"
	"testing"
)

// Key templates that are wrong whatever the types are. The text is the value of key=, in quotes where it holds blanks.
var templateErrors = []struct {
	in    string
	wants []want
	fixed string
}{
	{`‹""›`, []want{{"key-empty", "the key is empty"}}, ""},
	{"order:‹{}›", []want{{"placeholder", "no name between the braces"}}, ""},
	{"order:‹{›id", []want{{"brace", "never closed", `write "}"`}}, "order:{id}"},
	{"order:‹{›id:x", []want{{"brace", "never closed"}}, ""},
	{"order:‹{›a{b}", []want{{"brace", "never closed"}}, "order:{a}{b}"},
	{"order‹}›:x", []want{{"brace", "closes nothing", `"}}"`}}, "order}}:x"},
	{"{a}‹}›", []want{{"brace", "closes nothing"}}, "{a}}}"},
	{`"{‹ ›id‹  ›}"`, []want{{"space", "between the braces"}, {"space"}}, `"{id}"`},
	{`"a‹\x00›b"`, []want{{"character", `"\x00"`}}, ""},
	{`"a‹\xff›b"`, []want{{"character"}}, ""},
	{`"‹\u202e›"`, []want{{"character", `"\u202e"`, "no log or tool shows"}}, ""},
	{`"a‹\u200b›b‹\u00ad›c‹\u2028›d‹\ufeff›e"`, []want{{"character"}, {"character"}, {"character"}, {"character"}}, ""},
	{`"a‹\u00a0›b‹\u3000›c‹\u3164›d‹\ufe0f›e‹\U000e0061›"`,
		[]want{{"character"}, {"character"}, {"character", `"\u3164"`}, {"character", `"\ufe0f"`}, {"character"}}, ""},
	{"{‹_›}", []want{{"placeholder", "blank parameter"}}, ""},
	{"{a.‹›}", []want{{"placeholder", "empty name"}}, ""},
	{"{‹›.a}", []want{{"placeholder", "empty name"}}, ""},
	{"{a.‹b()›}", []want{{"method", "calls b", "nothing may run before"}}, ""},
	{"{‹f(a)›}", []want{{"method", "calls f"}}, ""},
	{"{‹a[0]›}", []want{{"placeholder", "takes an element"}}, ""},
	{"{‹type›}", []want{{"placeholder", "is a keyword"}}, ""},
	{"{‹0›}", []want{{"placeholder", "is no name"}}, ""},
	{"{‹*a›}", []want{{"placeholder", "is no name"}}, ""},
	{"{‹len(a›}", []want{{"placeholder", "is no length: write {len(name)}"}}, ""},
	{"{len(‹›)}", []want{{"placeholder"}}, ""},
	{"{a?‹x›}", []want{{"placeholder", `"x" follows the ?`, "{a?|lower}"}}, ""},
	{"{a‹|›}", []want{{"filter", "no filter follows the |"}}, "{a}"},
	{"{a|‹lowr›}", []want{{"filter", `did you mean "lower"?`}}, "{a|lower}"},
	{"{a|‹upper›}", []want{{"filter", `no filter "upper": write lower, hash, unix, text or string`}}, ""},
	{"{a|‹lower|hash›}", []want{{"filter", "more than one filter"}}, ""},
	{"{a‹|lower?›}", []want{{"filter", "the ? belongs to the name"}}, ""},
	{"‹{a}{b}›", []want{{"collision", "nothing separates {a} from {b}", "{a}:{b}"}}, ""},
	{"x‹{a|hash}{b?}›y", []want{{"collision", "{a|hash}", "{b?}"}}, ""},
	{"‹{a?}›", []want{{"key-empty", "every value of this key is optional", `"cache:{a?}"`}}, ""},
	{"{‹a b›}", []want{{"placeholder", `"a b" is no name`}}, ""},
}

func TestParseTemplate_errors(t *testing.T) {
	for _, tt := range templateErrors {
		t.Run(tt.in, func(t *testing.T) {
			value := tt.in
			if strings.Contains(value, " ") && !strings.HasPrefix(value, `"`) {
				value = `"` + value + `"`
			}
			text, spans := unmark(t, "//lock:key="+value+",ttl=30s")
			_, found := Parse(linesOf(text))
			checkProblems(t, text, spans, tt.wants, found)
			if tt.fixed == "" {
				return
			}
			if got, want := fixed(text, base, found), "//lock:key="+tt.fixed+",ttl=30s"; got != want {
				t.Errorf("the fix gives %s, want %s", got, want)
			}
		})
	}
}

func TestParseTemplate_parts(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string // literals with a leading ', placeholders as they print
	}{
		{"a", []string{"'a"}},
		{"{a}", []string{"{a}"}},
		{"a{b}c", []string{"'a", "{b}", "'c"}},
		{"{{a}}", []string{"'{a}"}},
		{"{{{a}}}", []string{"'{", "{a}", "'}"}},
		{"}}{{", []string{"'}{"}},
		{"{a}:{b.c.d?|lower}", []string{"{a}", "':", "{b.c.d?|lower}"}},
		{"{len(a.b)?|hash}", []string{"{len(a.b)?|hash}"}},
		{"{len}:{len(len)}", []string{"{len}", "':", "{len(len)}"}},
		{"a b\u00e9", []string{"'a bé"}},
	} {
		tmpl, found := parseTemplate(value{text: tt.in, base: base}, base, base)
		var got []string
		for _, part := range tmpl.Parts {
			switch part := part.(type) {
			case *Text:
				got = append(got, "'"+part.Value)
			case *Placeholder:
				got = append(got, part.String())
			}
		}
		if strings.Join(got, " ") != strings.Join(tt.want, " ") || len(found) > 0 && tt.in != "{len(a.b)?|hash}" {
			t.Errorf("%s has parts %q, want %q (problems %v)", tt.in, got, tt.want, found)
		}
		if got := tmpl.String(); got != tt.in {
			t.Errorf("%s prints as %s", tt.in, got)
		}
	}
}
