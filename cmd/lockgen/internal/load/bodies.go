package load

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/lockgen/lockgen/cmd/internal/files"
)

// Bodies type checks the packages that the patterns name, function bodies included. Files of the overlay stand in the
// place of those on the disk.
func (p *Program) Bodies(ctx context.Context, overlay map[string][]byte) ([]*packages.Package, error) {
	from := p.Config
	dirs, _, err := expand(ctx, from)
	if err != nil {
		return nil, err
	}
	conf := &packages.Config{Context: ctx, Dir: from.Dir, Env: from.Env, Overlay: overlay,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo}
	if from.Tags != "" {
		conf.BuildFlags = []string{"-tags=" + from.Tags}
	}
	patterns := make([]string, len(dirs))
	for i, dir := range dirs {
		patterns[i] = pathPattern(from.Dir, dir)
	}
	pkgs, err := packages.Load(conf, patterns...)
	if err != nil {
		return nil, fmt.Errorf("lockgen: the packages cannot be loaded: %w", plainError(err))
	}
	return pkgs, bodyErrors(from, pkgs)
}

// bodyErrors says what keeps the calls from being known.
func bodyErrors(from Config, pkgs []*packages.Package) error {
	const most = 10
	var lines []string
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if strings.Contains(e.Msg, "build constraints exclude all Go files") || strings.HasPrefix(e.Msg, "# ") {
				continue // nothing to see on this system, or the compiler's words for what the type checker says as well
			}
			path, at := splitPosition(e.Pos)
			pos := files.Name(files.Relative(from.Dir, path)) + at
			if line := pos + ": " + e.Msg; !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("and %d more", len(lines)-most))
	}
	return fmt.Errorf("lockgen: the graph needs packages that compile:\n%s", strings.Join(lines, "\n"))
}

// positionEnd is the line, and perhaps the column, behind a file's name. The name may have a colon of its own: C:\a.go.
var positionEnd = regexp.MustCompile(`(:\d+){1,2}$`)

// splitPosition cuts file:line:column in two.
func splitPosition(pos string) (path, at string) {
	at = positionEnd.FindString(pos)
	return strings.TrimSuffix(pos, at), at
}

// pathPattern is a folder as the go command takes it.
func pathPattern(base, dir string) string {
	if rel, err := filepath.Rel(base, dir); err == nil {
		return strings.TrimSuffix("."+string(filepath.Separator)+rel, string(filepath.Separator)+".")
	}
	return dir
}
