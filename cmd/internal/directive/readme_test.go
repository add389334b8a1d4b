package directive

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// optionRow is a row of a table of options: its name, its text, and the example at the end.
var optionRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|(.*)\\| `([^`]+)` \\|$")

// TestReadmes_showEveryOption: in each language there is a row for every option, whose example is right and whose text
// names every word that the option takes; and every filter is shown.
func TestReadmes_showEveryOption(t *testing.T) {
	for _, name := range []string{"README.md", "README.zh-CN.md", "cmd/lockgen/README.md"} {
		content, err := os.ReadFile(filepath.Join("../../..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(content), `\|`, "|")
		rows := map[string][]string{}
		for _, m := range optionRow.FindAllStringSubmatch(text, -1) {
			rows[m[1]] = m
		}
		for i := range options {
			o := &options[i]
			row := rows[o.name]
			if row == nil {
				t.Errorf("%s: no row with an example for %s", name, o.name)
				continue
			}
			delete(rows, o.name)
			checkExample(t, name, o, row[3])
			for _, word := range o.words {
				if !strings.Contains(row[2], "`"+word+"`") {
					t.Errorf("%s: the row of %s does not name %s", name, o.name, word)
				}
			}
		}
		if len(rows) > 0 {
			t.Errorf("%s: rows for %v, which are no options", name, slices.Sorted(maps.Keys(rows)))
		}
		for _, f := range filters {
			if !strings.Contains(text, "|"+f+"}") {
				t.Errorf("%s: the filter %s is not shown", name, f)
			}
		}
	}
}

// checkExample reads an example with what it needs around it, and expects its option in the result.
func checkExample(t *testing.T, readme string, o *option, example string) {
	t.Helper()
	args := []string{"key=a", "ttl=30s"}
	if o.cron {
		args = append(args, `cron="0 3 * * *"`)
	}
	args = slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, o.name+"=") })
	d, found := Parse([]Line{{Pos: 1, Text: strings.Join(append(args, example), ",")}})
	if len(found) > 0 || o.given(d) == nil {
		t.Errorf("%s: the example %s of %s: %v", readme, example, o.name, found)
	}
}
