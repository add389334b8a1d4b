package directive

import (
	"slices"
	"testing"
)

// own says of each key what it has of its own.
func own(d *Directive) []string {
	var all []string
	for _, k := range d.Keys {
		text := k.text()
		for _, arg := range k.own((*option).always) {
			text += " " + arg
		}
		all = append(all, text)
	}
	return all
}

// TestParse_ownOptions: mode and permits belong to the key before them on their line, before the first key to that one,
// and on a line without a key to the only key there is.
func TestParse_ownOptions(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"//lock:key=a,mode=read,ttl=1s", []string{"a mode=read"}},
		{"//lock:key=a,ttl=1s,mode=read", []string{"a mode=read"}},
		{"//lock:mode=read,key=a,ttl=1s", []string{"a mode=read"}},
		{"//lock:key=a,ttl=1s\n//lock:mode=read", []string{"a mode=read"}},
		{"//lock:key=a,ttl=1s\n//lock:key=b,mode=read", []string{"a", "b mode=read"}},
		{"//lock:key=a,ttl=1s\n//lock:mode=read,key=b", []string{"a", "b mode=read"}},
		{"//lock:key=a,mode=read,key=b,permits=4,ttl=1s", []string{"a mode=read", "b permits=4"}},
		{"//lock:permits=4,key=a,ttl=1s\n//lock:key=b,permits=@N", []string{"a permits=4", "b permits=@N"}},
		{"//lock:key=a,ttl=1s,mode=write\n//lock:key=b", []string{"a mode=write", "b"}},
	} {
		d, found := Parse(linesOf(c.in))
		if got := own(d); len(found) > 0 || !slices.Equal(got, c.want) {
			t.Errorf("%s says %q, %v; want %q", c.in, got, found, c.want)
		}
	}
}

// TestDifferences_ownOptions: the fingerprint and what is said of a change know which key an option belongs to.
func TestDifferences_ownOptions(t *testing.T) {
	parse := func(text string) *Directive {
		d, found := Parse(linesOf("//lock:" + text))
		if len(found) > 0 {
			t.Fatal(text, found)
		}
		return d
	}
	then := parse("key=a,mode=read,key=b,ttl=1s")
	now := parse("key=a,key=b,mode=read,ttl=1s")
	diff := Differences(now, then)
	if len(diff) != 2 || diff[0].Now != "write" || diff[0].Then != "read" || diff[1].Now != "read" {
		t.Errorf("differences are %v", diff)
	}
	if now.made() == then.made() {
		t.Errorf("the same code would be made: %s", now.made())
	}
	for _, c := range []struct{ text, want string }{
		{"key=a,mode=write,ttl=1s", "//lock:key=a,ttl=1s"},
		{"key=a,mode=read,ttl=1s", "//lock:key=a,mode=read,ttl=1s"},
		{"key=a,permits=3,ttl=1s", "//lock:key=a,permits=3,ttl=1s"},
	} {
		if got := parse(c.text).made(); got != c.want {
			t.Errorf("%s is made as %s", c.text, got)
		}
	}
}

// TestCollide_kinds: readers and writers of a key are meant to meet, holders of different permits never are.
func TestCollide_kinds(t *testing.T) {
	pattern := func(args string) Pattern {
		_, _, f, found := bound(t, "//lock:key=gpu:{id},ttl=30s"+args+"\nfunc f(id int) {}", true)
		if len(found) > 0 {
			t.Fatal(args, found)
		}
		p, _ := f.Pattern(f.Keys[0])
		return p
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", ",mode=read", false},
		{",mode=write", ",mode=read", false},
		{",mode=read", ",minhold=1s", false},
		{",permits=4", ",permits=4", false},
		{",permits=4", ",permits=3", true},
		{",permits=4", "", true},
		{",permits=4", ",mode=read", true},
		{`,permits=4,shared="x"`, `,permits=3,shared="x"`, true},
		{`,shared="x"`, `,mode=read,shared="x"`, false},
		{",permits=4,minhold=1s", ",permits=4", true},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if _, got := Collide(pattern(pair[0]), pattern(pair[1])); got != c.want {
				t.Errorf("%q and %q collide: %t", pair[0], pair[1], got)
			}
		}
	}
}
