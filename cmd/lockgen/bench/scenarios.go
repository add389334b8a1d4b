package main

import "fmt"

// A scenario is a piece of work that each tool does in its way.
type scenario struct {
	name  string
	cold  bool // with an empty build cache
	keep  bool // what was generated before stays
	tools []tool
}

type tool struct {
	name     string
	commands []command
}

// A command is one process.
type command struct {
	dir  string // in the module
	args []string
}

func scenarios(packages int) []scenario {
	all := []scenario{
		{name: "nothing to do: no directives", tools: []tool{lockgen(none)}},
		{name: "nothing to do: all up to date", keep: true, tools: []tool{lockgen(plain)}},
	}
	for _, cold := range []bool{false, true} {
		cache := "warm"
		if cold {
			cache = "cold"
		}
		for _, n := range []int{1, packages} {
			for _, group := range []string{plain, typed} {
				first := lockgen(group)
				if n == 1 {
					first = tool{"lockgen", []command{{group + "/p00", []string{"lockgen"}}}}
				}
				s := scenario{name: fmt.Sprintf("%d %s, %s", n, group, cache), cold: cold, tools: []tool{first}}
				if group == plain {
					s.tools = append(s.tools, mocks("moq", n, "moq", "-out", "moq.go", ".", "Store"),
						mocks("mockgen", n, "mockgen", "-destination", "mock.go", "-package", "mock", "-source", "p.go"))
				}
				all = append(all, s)
			}
		}
	}
	return all
}

// lockgen is one process for all packages of a group.
func lockgen(group string) tool {
	return tool{"lockgen", []command{{group, []string{"lockgen", "./..."}}}}
}

// mocks is one process for each package, as //go:generate lines run them.
func mocks(name string, packages int, args ...string) tool {
	t := tool{name: name}
	for i := range packages {
		t.commands = append(t.commands, command{fmt.Sprintf("%s/p%02d", plain, i), args})
	}
	return t
}
