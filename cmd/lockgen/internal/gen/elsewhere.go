package gen

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/files"
)

// elsewhere moves the outputs to where Config.Out says, for sources that cannot be written to. What lies beside the sources
// is left alone, whatever state it is in.
func (g *generator) elsewhere(all []File) ([]File, error) {
	var wanted []File
	var names []string
	for _, f := range all {
		if f.Want == nil {
			continue
		}
		wanted = append(wanted, f)
		names = append(names, files.Name(relative(g.cfg.Dir, f.Path)))
	}
	single := strings.HasSuffix(g.cfg.Out, ".go")
	if single && len(wanted) != 1 {
		found := "no directive asks for a file"
		if len(wanted) > 1 {
			found = fmt.Sprintf("there would be %d: %s", len(wanted), strings.Join(names, ", "))
		}
		return nil, fmt.Errorf("lockgen: -o %s names one file, and %s; name a folder, or one package", g.cfg.Out, found)
	}
	for i, f := range wanted {
		to := g.cfg.Out
		if !single {
			rel, err := filepath.Rel(g.cfg.Dir, f.Path)
			if err != nil || !filepath.IsLocal(rel) {
				return nil, fmt.Errorf("lockgen: -o repeats folders as they are seen from the current one, and %s is not below "+
					"it: run lockgen in the root of the module", names[i])
			}
			to = filepath.Join(to, rel)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(g.cfg.Dir, to)
		}
		have, err := files.Read(to)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("lockgen: %w", err)
		}
		if have != nil && !isOutput(filepath.Base(to), have) {
			return nil, fmt.Errorf("lockgen: -o would replace %s, which lockgen has not written: name another file",
				files.Name(relative(g.cfg.Dir, to)))
		}
		wanted[i] = File{Path: to, Want: f.Want, Have: have}
		if have != nil {
			wanted[i].Want = files.Like(f.Want, have)
		}
	}
	return wanted, nil
}
