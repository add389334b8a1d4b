package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Forms are the languages that a graph can be drawn in.
var Forms = map[string]func(*Graph) string{"dot": (*Graph).DOT, "mermaid": (*Graph).Mermaid}

// nested are the locks that have an edge. The others would hide them.
func (g *Graph) nested() []int {
	var found []int
	for i := range g.Locks {
		if slices.ContainsFunc(g.Edges, func(e Edge) bool { return e.Outer == i || e.Inner == i }) {
			found = append(found, i)
		}
	}
	return found
}

func leftOut(n int) string {
	if n == 1 {
		return "1 lock is left out: it is not taken while another one is held"
	}
	return fmt.Sprintf("%d locks are left out: none is taken while another one is held", n)
}

// DOT is the graph for Graphviz. Arrows lead from the lock that is held to the one that is taken; those of a cycle are red,
// those through interfaces dashed.
func (g *Graph) DOT() string {
	var b strings.Builder
	b.WriteString("digraph locks {\n\trankdir=LR\n\tnode [shape=box]\n")
	nested := g.nested()
	if n := len(g.Locks) - len(nested); n > 0 {
		fmt.Fprintf(&b, "\t// %s\n", leftOut(n))
	}
	for _, i := range nested {
		fmt.Fprintf(&b, "\tn%d [label=%s]\n", i+1, dotText(g.Locks[i].label()))
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		fmt.Fprintf(&b, "\tn%d -> n%d [label=%s", e.Outer+1, e.Inner+1, dotText(e.label()))
		if e.Interface {
			b.WriteString(" style=dashed")
		}
		if e.Cycle {
			b.WriteString(" color=red penwidth=2")
		}
		b.WriteString("]\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// dotText is lines as a quoted string of DOT.
func dotText(lines []string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.Join(lines, "\n")) + `"`
}

// Mermaid is the graph as a Mermaid flowchart, which GitHub draws. It has the arrows of DOT.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	nested := g.nested()
	if n := len(g.Locks) - len(nested); n > 0 {
		fmt.Fprintf(&b, "\t%%%% %s\n", leftOut(n))
	}
	for _, i := range nested {
		fmt.Fprintf(&b, "\tn%d[%s]\n", i+1, mermaidText(g.Locks[i].label()))
	}
	var red []string
	for i := range g.Edges {
		e := &g.Edges[i]
		arrow := "-->"
		if e.Interface {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "\tn%d %s|%s| n%d\n", e.Outer+1, arrow, mermaidText(e.label()), e.Inner+1)
		if e.Cycle {
			red = append(red, fmt.Sprint(i))
		}
	}
	if len(red) > 0 {
		fmt.Fprintf(&b, "\tlinkStyle %s stroke:red,stroke-width:2px\n", strings.Join(red, ","))
	}
	return b.String()
}

// mermaidText is lines as a quoted text of Mermaid, in which # starts an entity and what HTML reads has to be one.
func mermaidText(lines []string) string {
	text := strings.NewReplacer("#", "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "`", "#96;").
		Replace(strings.Join(lines, "\n"))
	return `"` + strings.ReplaceAll(text, "\n", "<br/>") + `"`
}
