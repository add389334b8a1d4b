package clash

import (
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
)

// hiddenJobs reports a RegisterJobs that would hide the one of an embedded type: who calls it would believe that the jobs of
// both are registered.
func (c *finder) hiddenJobs() {
	for _, group := range bound.Scheduled(c.Funcs) {
		if group[0].RecvType == "" {
			continue
		}
		reported := map[*types.Package]bool{}
		for _, u := range group {
			if reported[u.Pkg] {
				continue // types of other packages may have the same name
			}
			reported[u.Pkg] = true
			if embedded := c.embeddedJobs(u); embedded != "" {
				c.found = append(c.found, u.At(c.Files.Fset, "jobs",
					"%s.%s would hide that of the embedded %s, and those jobs would not be registered: give the field a name, and "+
						"register the jobs of both", u.RecvType, bound.RegisterName, embedded))
			}
		}
	}
}

// embeddedJobs is a type with jobs that the receiver's struct embeds, "" if there is none.
func (c *finder) embeddedJobs(u *bound.Func) string {
	owner := u.Pkg.Scope().Lookup(u.RecvType)
	if owner == nil {
		return ""
	}
	found := ""
	embeddedTypes(owner.Type(), map[types.Type]bool{}, func(t types.Type) {
		if found == "" && c.hasJobs(t, u.Pkg) {
			found = types.TypeString(t, types.RelativeTo(u.Pkg))
			found, _, _ = strings.Cut(found, "[")
		}
	})
	return found
}

// embeddedTypes calls a function for each type that a struct embeds, at whatever depth. An alias is what it stands for.
func embeddedTypes(t types.Type, seen map[types.Type]bool, each func(types.Type)) {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for field := range s.Fields() {
		if !field.Embedded() {
			continue
		}
		embedded := types.Unalias(field.Type())
		if pointer, ok := embedded.(*types.Pointer); ok {
			embedded = types.Unalias(pointer.Elem())
		}
		if !seen[embedded] {
			seen[embedded] = true
			each(embedded)
			embeddedTypes(embedded, seen, each)
		}
	}
}

// hasJobs tells whether a type that a package embeds has a method RegisterJobs, or will have one.
func (c *finder) hasJobs(of types.Type, in *types.Package) bool {
	if types.IsInterface(of) {
		obj, _, _ := types.LookupFieldOrMethod(of, false, in, bound.RegisterName)
		return obj != nil
	}
	named, ok := of.(*types.Named)
	if !ok {
		return false
	}
	t := named.Obj()
	obj, index, _ := types.LookupFieldOrMethod(types.NewPointer(named), true, t.Pkg(), bound.RegisterName)
	if obj != nil && len(index) == 1 {
		return true
	}
	if t.Pkg() == nil || !t.Pos().IsValid() {
		return false
	}
	for _, u := range c.Funcs {
		if u.Directive.Cron != nil && u.RecvType == t.Name() && u.Pkg.Path() == t.Pkg().Path() {
			return true
		}
	}
	dir := filepath.Dir(c.Files.Fset.PositionFor(t.Pos(), false).Filename)
	for _, f := range c.Folders {
		if f.Dir == dir {
			return false // its directives have been read, whatever an old output says
		}
	}
	return outputDeclares(dir, t.Name(), bound.RegisterName)
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
		if err != nil || !output.CarriesHeader(content) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), content, parser.SkipObjectResolution)
		if err == nil && declares(file, owner, name) {
			return true
		}
	}
	return false
}
