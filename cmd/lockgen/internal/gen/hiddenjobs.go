package gen

import (
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
)

// hiddenJobs reports a RegisterJobs that would hide the one of an embedded type: who calls it would believe that the jobs of
// both are registered.
func (g *generator) hiddenJobs() {
	for _, group := range scheduled(g.units) {
		if group[0].RecvType == "" {
			continue
		}
		reported := map[*types.Package]bool{}
		for _, u := range group {
			if reported[u.pkg] {
				continue // types of other packages may have the same name
			}
			reported[u.pkg] = true
			if embedded := g.embeddedJobs(u); embedded != "" {
				g.problems = append(g.problems, u.at(g.files.fset, "jobs",
					"%s.%s would hide that of the embedded %s, and those jobs would not be registered: give the field a name, and "+
						"register the jobs of both", u.RecvType, registerName, embedded))
			}
		}
	}
}

// embeddedJobs is a type with jobs that the receiver's struct embeds, "" if there is none.
func (g *generator) embeddedJobs(u *unit) string {
	owner := u.pkg.Scope().Lookup(u.RecvType)
	if owner == nil {
		return ""
	}
	found := ""
	embeddedTypes(owner.Type(), map[*types.TypeName]bool{}, func(t *types.TypeName) {
		if found == "" && g.hasJobs(t) {
			found = types.TypeString(t.Type(), types.RelativeTo(u.pkg))
			found, _, _ = strings.Cut(found, "[")
		}
	})
	return found
}

// embeddedTypes calls a function for each type that a struct embeds, at whatever depth.
func embeddedTypes(t types.Type, seen map[*types.TypeName]bool, each func(*types.TypeName)) {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for field := range s.Fields() {
		if !field.Embedded() {
			continue
		}
		if named := receiverNamed(field.Type()); named != nil && !seen[named.Obj()] {
			seen[named.Obj()] = true
			each(named.Obj())
			embeddedTypes(named, seen, each)
		}
	}
}

// hasJobs tells whether a type has a method RegisterJobs, or will have one.
func (g *generator) hasJobs(t *types.TypeName) bool {
	if obj, index, _ := types.LookupFieldOrMethod(types.NewPointer(t.Type()), true, t.Pkg(), registerName); obj != nil &&
		len(index) == 1 {
		return true
	}
	if t.Pkg() == nil || !t.Pos().IsValid() {
		return false
	}
	for _, u := range g.units {
		if u.Directive.Cron != nil && u.RecvType == t.Name() && u.pkg.Path() == t.Pkg().Path() {
			return true
		}
	}
	dir := filepath.Dir(g.files.fset.PositionFor(t.Pos(), false).Filename)
	for _, f := range g.folders {
		if f.dir == dir {
			return false // its directives have been read, whatever an old output says
		}
	}
	return outputDeclares(dir, t.Name(), registerName)
}

// outputDeclares tells whether lockgen's files in a folder declare a method.
func outputDeclares(dir, owner, name string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		content, err := files.Read(filepath.Join(dir, entry.Name()))
		if err != nil || !carriesHeader(content) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), content, parser.SkipObjectResolution)
		if err == nil && declares(file, owner, name) {
			return true
		}
	}
	return false
}
