package unit

import (
	"go/types"
	"testing"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
)

// FuzzFacts hands facts to a package that are not what a package tells: cut off, of another version, or made up. They are
// refused or do not matter. Nothing panics, in the checks or around them.
func FuzzFacts(f *testing.F) {
	m := newModule(f)
	shopRes := m.run("a.b/shop", shop, nil)
	m.run("a.b/between", between, nil)
	var p Package
	userRes := m.run("a.b/user", user, func(described *Package) { p = *described })
	good := userRes.Facts["a.b/shop"].Facts
	f.Add(good)
	f.Add(userRes.Facts["a.b/between"].Facts)
	f.Add(good[:len(good)/2])
	f.Add([]byte(nil))
	f.Add([]byte("no gob"))
	for _, list := range [][]told{{{}}, {{Path: "Pay"}}, {{Path: "\x00.\xff", Fact: lockcheck.Carrier()}}} {
		if data, err := encode("a.b/shop", list); err == nil {
			f.Add(data)
		}
	}
	before := lockcheck.OnPanic
	f.Cleanup(func() { lockcheck.OnPanic = before })
	f.Fuzz(func(t *testing.T, data []byte) {
		lockcheck.OnPanic = func(p any) { t.Errorf("recovered from %v", p) }
		facts := Facts{"a.b/shop": {Carrier: true, Facts: data}}
		if _, err := Link([]*types.Package{shopRes.Types, userRes.Types}, facts); err != nil {
			t.Log(err)
		}
		s := newFactSet(userRes.Types, facts, Facts{"a.b/user": {Facts: data}})
		s.allPackageFacts()
		for _, o := range s.allObjectFacts() {
			s.exportObject(o.Object, o.Fact)
		}
		if _, err := s.export(); err != nil {
			t.Log(err)
		}
		p := p
		p.Facts = facts
		if res, err := p.Run(lockcheck.Checks); err == nil && res.Checks == nil {
			t.Error("the package was not looked at")
		}
	})
}

// TestDecode_hostile: what cannot be read is an error, and no facts.
func TestDecode_hostile(t *testing.T) {
	register()
	data, err := encode("a.b/c", []told{{Path: "F", Fact: lockcheck.Carrier()}})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := decode(data); err != nil || len(list) != 1 || list[0].Path != "F" {
		t.Fatalf("%v, %v", list, err)
	}
	for n := 1; n < len(data); n++ {
		if list, err := decode(data[:n]); err == nil {
			t.Errorf("%d of %d bytes are %v", n, len(data), list)
		}
	}
	if data, err = encode("a.b/c", []told{{Path: "F"}}); err != nil {
		t.Fatal(err)
	}
	if list, err := decode(data); err == nil {
		t.Errorf("an element without a fact is %v", list)
	}
}
