package driver

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"go/build"
	"go/token"
	"go/types"
	"io"
	"os"
	"slices"

	"github.com/lockgen/lockgen/cmd/locklint/internal/unit"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// This file is the protocol of go vet -vettool. The go command asks for the version and the flags, and then starts a
// process for each package, with a file that describes it. What the process tells about the package goes into a file
// that the go command keeps and gives to the processes of the importers.

// vetFacts is the content of that file.
type vetFacts struct {
	Facts unit.Facts
	Types []byte // what the compiler would export, for a go command that does not compile for vet
}

// vetUnit analyses the one package that a .cfg file describes.
func vetUnit(o *options, stdout, stderr io.Writer) int {
	cfg, err := readVetConfig(o.unit)
	if err != nil {
		fmt.Fprintf(stderr, "locklint: %v\n", err)
		return exitFailed
	}
	code, err := newVetRun(cfg).run(o, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "locklint: %s: %v\n", cfg.ImportPath, err)
		return exitFailed
	}
	return code
}

func readVetConfig(name string) (*unitchecker.Config, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	cfg := new(unitchecker.Config)
	if err := json.Unmarshal(text, cfg); err != nil {
		return nil, fmt.Errorf("cannot understand %s: %w", name, err)
	}
	return cfg, nil
}

type vetRun struct {
	cfg      *unitchecker.Config
	fset     *token.FileSet
	imported map[string]*types.Package
	told     map[string]*vetFacts // by path, of the direct imports
}

func newVetRun(cfg *unitchecker.Config) *vetRun {
	return &vetRun{cfg: cfg, fset: token.NewFileSet(), imported: map[string]*types.Package{}, told: map[string]*vetFacts{}}
}

// compiled reports whether the go command hands over what the compiler exports. If not, the tool has to say itself what
// the types of a package are.
func (v *vetRun) compiled() bool { return v.cfg.PackageFile != nil }

func (v *vetRun) run(o *options, stdout, stderr io.Writer) (int, error) {
	p, err := v.unit()
	if err != nil {
		return exitFailed, err
	}
	checks := o.checks
	if v.cfg.VetxOnly {
		checks = nil
	}
	res, err := p.Run(checks)
	if err != nil {
		return exitFailed, err
	}
	if err := v.tell(res); err != nil {
		return exitFailed, err
	}
	if v.cfg.VetxOnly {
		return exitClean, nil // whatever is wrong with it, somebody else says
	}
	for _, err := range append(res.Errors, res.Failed...) {
		fmt.Fprintln(stderr, err)
	}
	code, err := v.print(o, tidy(findingsOf(v.fset, res.Checks)), stdout, stderr)
	if len(res.Errors)+len(res.Failed) > 0 && !v.cfg.SucceedOnTypecheckFailure {
		code = exitFindings
	}
	return code, err
}

// unit describes the package to package unit.
func (v *vetRun) unit() (*unit.Package, error) {
	cfg := v.cfg
	p := &unit.Package{
		Path: cfg.ImportPath, GoVersion: cfg.GoVersion, Module: cfg.Module,
		Sizes:   types.SizesFor("gc", build.Default.GOARCH),
		GoFiles: cfg.GoFiles, OtherFiles: cfg.NonGoFiles, IgnoredFiles: cfg.IgnoredFiles,
		Fset: v.fset, Import: v.importFrom, Facts: unit.Facts{}, NeedTypes: !v.compiled(),
	}
	if p.Module == nil && cfg.ModulePath != "" {
		p.Module = &analysis.Module{Path: cfg.ModulePath, Version: cfg.ModuleVersion, GoVersion: cfg.GoVersion}
	}
	for path, name := range cfg.PackageVetx {
		told, err := readVetFacts(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read what %s tells: %w", path, err)
		}
		v.told[path] = told
		p.Facts.Add(told.Facts)
	}
	return p, nil
}

func readVetFacts(name string) (*vetFacts, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	told := new(vetFacts)
	switch err := gob.NewDecoder(f).Decode(told); err {
	case nil, io.EOF: // nothing to tell
		return told, nil
	default:
		return nil, err
	}
}

// tell writes what importers are to know.
func (v *vetRun) tell(res *unit.Result) error {
	if v.cfg.VetxOutput == "" {
		return nil
	}
	f, err := os.Create(v.cfg.VetxOutput)
	if err != nil {
		return err
	}
	defer f.Close()
	told := vetFacts{Facts: res.Facts}
	if !v.compiled() {
		if told.Types, err = exportTypes(v.fset, res.Types); err != nil {
			return err
		}
	}
	if len(told.Facts) > 0 || told.Types != nil {
		if err := gob.NewEncoder(f).Encode(told); err != nil {
			return err
		}
	}
	return f.Close()
}

// importFrom returns the types of what the package calls path.
func (v *vetRun) importFrom(path string) (*types.Package, error) {
	path, ok := v.cfg.ImportMap[path]
	if !ok {
		return nil, fmt.Errorf("the go command knows no such package")
	}
	if p := v.imported[path]; p != nil && p.Complete() {
		return p, nil
	}
	if v.compiled() {
		file, ok := v.cfg.PackageFile[path]
		if !ok {
			return nil, fmt.Errorf("the go command has not compiled %s", path)
		}
		return readExported(v.fset, v.imported, file, path)
	}
	told := v.told[path]
	if told == nil {
		return nil, fmt.Errorf("the go command has not looked at %s", path)
	}
	return importTypes(v.fset, v.imported, told.Types, path)
}

// print prints the findings, or applies their fixes, the way go vet's own tool does.
func (v *vetRun) print(o *options, list []finding, stdout, stderr io.Writer) (int, error) {
	if v.cfg.Stdout != "" {
		f, err := os.Create(v.cfg.Stdout)
		if err != nil {
			return exitFailed, err
		}
		defer f.Close()
		stdout = f
	}
	list = counting(list)
	switch {
	case o.fix && o.diff:
		return exitClean, printDiff(stdout, list, sourceRoot()) // each package is looked at in its own folder
	case o.fix:
		return exitClean, v.fix(list)
	case o.json:
		return exitClean, printVetJSON(stdout, v.cfg.ID, list)
	}
	if len(list) == 0 {
		return exitClean, nil
	}
	return exitFindings, printText(stderr, list, o.context)
}

// fix writes the fixed files, or hands them to a go command that does so itself when all packages are done.
func (v *vetRun) fix(list []finding) error {
	changes, _, err := applyFixes(list)
	if err != nil || v.cfg.FixArchive == "" {
		for _, c := range changes {
			if err := c.write(); err != nil {
				return fmt.Errorf("cannot fix %s: %w", c.file, err)
			}
		}
		return err
	}
	f, err := os.Create(v.cfg.FixArchive)
	if err != nil {
		return err
	}
	defer f.Close()
	archive := zip.NewWriter(f)
	if err := archive.SetComment(v.cfg.ID); err != nil {
		return err
	}
	for _, c := range changes {
		w, err := archive.Create(c.file)
		if err != nil {
			return err
		}
		if _, err := w.Write(c.new); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return f.Close()
}

// vetVersion answers -V=full. The go command caches results under what it is told, so that is a hash of the program.
func vetVersion(stdout, stderr io.Writer) int {
	if err := printVersion(stdout); err != nil {
		fmt.Fprintf(stderr, "locklint: cannot say which version this is: %v\n", err)
		return exitFailed
	}
	return exitClean
}

func printVersion(stdout io.Writer) error {
	name, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s version devel comments-go-here buildID=%x\n", name, h.Sum(nil))
	return err
}

// describeFlags answers -flags: the go command accepts these flags and passes them on.
func describeFlags(stdout, stderr io.Writer) int {
	type described struct {
		Name  string
		Bool  bool
		Usage string
	}
	list := []described{}
	var unused string
	new(options).flags(&unused, &unused).VisitAll(func(f *flag.Flag) {
		if slices.Contains(vetFlags, f.Name) {
			b, ok := f.Value.(interface{ IsBoolFlag() bool })
			list = append(list, described{f.Name, ok && b.IsBoolFlag(), f.Usage})
		}
	})
	if err := encodeJSON(stdout, list); err != nil {
		fmt.Fprintf(stderr, "locklint: cannot describe the flags: %v\n", err)
		return exitFailed
	}
	return exitClean
}
