package gen

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
)

// explanations holds a section for each kind of problem: "== kind: what it is", then why, a wrong and a right example.
//
//go:embed explain.txt
var explanations string

// sections are the explanations by kind.
func sections() map[string]string {
	all := map[string]string{}
	for _, section := range strings.Split("\n"+explanations, "\n== ")[1:] {
		kind, _, _ := strings.Cut(section, ":")
		all[kind] = strings.TrimSpace(section) + "\n"
	}
	return all
}

// Explain is the explanation of a kind of problem.
func Explain(kind string) (string, bool) {
	text, ok := sections()[kind]
	return text, ok
}

// Kinds are the kinds that can be explained, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(sections())) }
