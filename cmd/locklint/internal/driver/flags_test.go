package driver

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFlags_told: every flag stands in the help and in a script, and the help names no other.
func TestFlags_told(t *testing.T) {
	scripts := ""
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		scripts += string(text)
	}
	var unused string
	known := map[string]bool{"h": true}
	new(options).flags(&unused, &unused).VisitAll(func(f *flag.Flag) {
		known[f.Name] = true
		if f.Name == "V" || f.Name == "flags" { // the go command's
			return
		}
		if !strings.Contains(usageText, "\n\t-"+f.Name) {
			t.Errorf("the help lacks -%s", f.Name)
		}
		if !regexp.MustCompile(`-` + regexp.QuoteMeta(f.Name) + `[= \n]`).MatchString(scripts) {
			t.Errorf("no script uses -%s", f.Name)
		}
	})
	for _, m := range regexp.MustCompile(`\n\t-([\w-]+)`).FindAllStringSubmatch(usageText, -1) {
		if !known[m[1]] {
			t.Errorf("the help names -%s, which there is not", m[1])
		}
	}
}
