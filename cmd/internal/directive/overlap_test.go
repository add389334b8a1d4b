package directive

import "testing"

// key is the pattern of the first key of a directive on a function with these parameters.
func key(t *testing.T, template, params string) Pattern {
	t.Helper()
	_, _, f, found := bound(t, "//lock:key="+template+",ttl=30s\nfunc f("+params+") {}", true)
	for _, p := range found {
		t.Fatalf("%s: %s", template, p.Message)
	}
	p, ok := f.Pattern(f.Keys[0])
	if !ok {
		t.Fatalf("%s: nothing is known", template)
	}
	return p
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct{ a, inA, b, inB, example string }{
		{"order:{id}", "id int64", "order:{id}", "id string", "order:1"},
		{"order:{id}", "id int64", "{kind}:{id}", "kind string, id int", "order:1"},
		{"order:{len(xs)}", "xs []string", "order:{id}", "id int64", "order:1"},
		{"order:{id}", "id uint8", "order:-{id}", "id uint8", ""},
		{"order:{id}", "id int", "order:-{id}", "id uint8", "order:-1"},
		{"order:{id}", "id int", "orders:{id}", "id int", ""},
		{"order:{id}", "id bool", "order:{id}", "id int", ""},
		{"order:{id}", "id bool", "order:true", "", "order:true"},
		{"order:{id}", "id string", "order:a/b", "", ""},
		{"order:{id}", "id string", "order:a%2Fb", "", "order:a%2Fb"},
		{"order:{id}", "id string", "order:a%2fb", "", ""},
		{"order:{id}", "id string", "order:%41", "", ""},
		{"order:{id}", "id int", "order:007", "", ""},
		{"order:{id}", "id int", "order:-0", "", ""},
		{"order:{id|lower}", "id string", "order:A", "", ""},
		{"order:{id|hash}", "id string", "order:{id}", "id int", "order:1111111111111111111111111111111111111111111111111111111111111111"},
		{"order:{id|hash}", "id string", "order:{id}", "id bool", ""},
		{"order:{id}", "id string", "order:", "", ""},
		{"order:{id?}", "id string", "order:", "", "order:"},
		{"order:{id?}", "id *string", "order:%", "", "order:%"},
		{"order:{id?}", "id string", "order:%", "", ""},
		{"order:{id?|lower}", "id *string", "order:%", "", "order:%"},
		{"order:{id?}", "id int", "order:", "", ""},
		{"order:{id?}", "id bool", "order:", "", ""},
		{"order:{len(id)?}", "id []int", "order:", "", ""},
		{"order:{len(id)?}", "id *[]int", "order:", "", "order:"},
		{"order:{t?|unix}", "t time.Time", "order:", "", ""},
		{"order:{t?|unix}", "t *time.Time", "order:", "", "order:"},
		{"order:{o.ID?}", "o struct{ ID int }", "order:", "", ""},
		{"order:{o.ID?}", "o *struct{ ID int }", "order:", "", "order:"},
		{"order:{id?}", "id *int", "order:%", "", ""},
		{"order:{id?}%:", "id *int", "order:%:", "", "order:%:"},
		{"{a}:{b}", "a, b string", "{a}:{b}:{c}", "a, b, c string", ""},
		{"{a}:{b}", "a, b string", "{a}/{b}", "a, b string", ""},
		{"{a}:x", "a string", "b:{x}", "x string", "b:x"},
		{"cart", "", "cart", "", "cart"},
		{"at:{t|unix}", "t time.Time", "at:{n}", "n int", "at:1"},
	} {
		x, y := key(t, c.a, c.inA), key(t, c.b, c.inB)
		for range 2 {
			if got, ok := Overlap(x, y); got != c.example || ok != (c.example != "") {
				t.Errorf("%s (%s) and %s (%s) share %q, %t; want %q", c.a, c.inA, c.b, c.inB, got, ok, c.example)
			}
			x, y = y, x
		}
	}
}

func TestCollide_sameKeyIsMeant(t *testing.T) {
	for _, c := range []struct {
		a, inA, b, inB string
		want           bool
	}{
		{"order:{id}", "id int64", "order:{id}", "id int64", true},
		{"order:{id}", "id int64", "order:{id}", "id int", false},
		{"order:{id}", "id int64", "order:{n}", "n int64", false},
		{"cart", "", "cart", "", false},
	} {
		x, y := key(t, c.a, c.inA), key(t, c.b, c.inB)
		if got := x.sameKey(&y); got != c.want {
			t.Errorf("%s (%s) and %s (%s): %t", c.a, c.inA, c.b, c.inB, got)
		}
	}
}
