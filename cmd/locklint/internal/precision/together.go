package precision

import (
	"fmt"
	"slices"
	"strings"
)

const togetherText = `
## What to expect of code that nobody has seen

The first runs over the nineteen sets that were unseen then, added up. Most of what they show has been mended since, so that
the next first run may be better; each one so far has shown shapes that no set before it had. The repositories of some
sets were looked for by rare defects, so the shares of the checks are no sample.
`

// together adds up the first runs, as the estimate for code that is unseen.
func (d *Data) together(b *strings.Builder) {
	once := []string{HeldOut, Fresh, Unseen}
	right, found := map[string]Rate{}, map[string]Rate{}
	for _, r := range d.Reports {
		if slices.Contains(once, r.Set) {
			rate := right[r.ID]
			rate.add(r.Verdict == Bug)
			right[r.ID] = rate
		}
	}
	for _, s := range d.Sites {
		for _, id := range s.Broken {
			if slices.Contains(once, s.Set) {
				rate := found[id]
				rate.add(slices.Contains(s.Found, id))
				found[id] = rate
			}
		}
	}
	for _, c := range d.Counts {
		if slices.Contains(firstRuns, c.Run) {
			right[c.ID] = Rate{right[c.ID].Right + c.Right, right[c.ID].All + c.Reports}
			found[c.ID] = Rate{found[c.ID].Right + c.Found, found[c.ID].All + c.Defects}
		}
	}
	b.WriteString(togetherText)
	b.WriteString(countHead)
	var reports, defects Rate
	ids := map[string]bool{}
	for id := range right {
		ids[id] = true
	}
	for id := range found {
		ids[id] = true
	}
	for _, id := range sortedKeys(ids, strings.Compare) {
		fmt.Fprintf(b, "| %s%s | %s | %s |\n", id, offMark(id), cells(right[id]), cells(found[id]))
		if offMark(id) == "" {
			reports = Rate{reports.Right + right[id].Right, reports.All + right[id].All}
			defects = Rate{defects.Right + found[id].Right, defects.All + found[id].All}
		}
	}
	fmt.Fprintf(b, "| **all on by default** | %s | %s |\n", reports, defects)
}
