package gen

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
)

// ownKinds are the kinds that this package adds to those of package directive.
var ownKinds = []string{"go-version", "syntax", "cgo", "types", "scope", "jobs", "foreign", "unbuilt", "load", "pattern",
	"shared-key", "upgrade"}

func TestExplain_everyKind(t *testing.T) {
	for _, kind := range append(directive.Slugs(), ownKinds...) {
		if _, ok := Explain(kind); !ok {
			t.Errorf("nothing explains %s", kind)
		}
	}
}

// TestExplain_examplesAreTrue: a wrong example is refused for its reason, a right one is not.
func TestExplain_examplesAreTrue(t *testing.T) {
	elsewhere := []string{"test", "cgo"} // they need a file of their own kind
	files := map[string]string{}
	for _, kind := range Kinds() {
		text, _ := Explain(kind)
		_, examples, ok := strings.Cut(text, "\nWrong:\n")
		if !ok || slices.Contains(elsewhere, kind) {
			continue
		}
		wrong, right, _ := strings.Cut(examples, "\nRight:\n")
		pkg := strings.ReplaceAll(kind, "-", "")
		files["wrong/"+pkg+"/a.go"] = exampleSource(pkg, wrong)
		files["right/"+pkg+"/a.go"] = exampleSource(pkg, right)
	}
	cfg := configFor(writeModule(t, files))
	cfg.Collisions = true
	cfg.Patterns = []string{"./right/..."}
	result, err := Generate(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(result.Problems, result.Collisions...) {
		if p.Kind != "shared-key" || strings.Contains(p.File, "sharedkey") && strings.Contains(p.Message, "sharedkey") {
			t.Errorf("a right example is refused: %s", p)
		}
	}
	for _, kind := range Kinds() {
		pkg := strings.ReplaceAll(kind, "-", "")
		if files["wrong/"+pkg+"/a.go"] == "" {
			continue
		}
		cfg.Patterns = []string{"./wrong/" + pkg}
		result, err := Generate(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		all := append(result.Problems, result.Collisions...)
		if !slices.ContainsFunc(all, func(p problem.Problem) bool { return p.Kind == kind }) {
			t.Errorf("the wrong example of %s is not refused for that: %v", kind, all)
		}
	}
}

// exampleSource is an example as a file, with the imports that it uses.
func exampleSource(pkg, example string) string {
	if strings.Contains(example, "\n\tpackage ") {
		return strings.ReplaceAll(example, "\n\t", "\n")[1:] + "\n"
	}
	text := "package " + pkg + "x\n\n"
	for _, im := range []string{"context", "database/sql", "time", "github.com/lockgen/lockgen/runtime"} {
		name := im[strings.LastIndex(im, "/")+1:]
		alias := ""
		if name == "runtime" {
			name, alias = "lockrt", "lockrt "
		}
		if strings.Contains(example, name+".") {
			text += "import " + alias + `"` + im + "\"\n"
		}
	}
	return text + strings.ReplaceAll("\n"+example, "\n\t", "\n") + "\n"
}
