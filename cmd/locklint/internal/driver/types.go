package driver

import (
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"os"

	"golang.org/x/tools/go/gcexportdata"
)

// readExported reads what the compiler exports of a package from its file.
func readExported(fset *token.FileSet, imported map[string]*types.Package, file, path string) (*types.Package, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := gcexportdata.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("cannot read what the compiler exports of %s: %w", path, err)
	}
	return gcexportdata.Read(r, fset, imported, path)
}

// exportTypes says of a package what the compiler would say.
func exportTypes(fset *token.FileSet, pkg *types.Package) ([]byte, error) {
	var buf bytes.Buffer
	if err := gcexportdata.Write(&buf, fset, pkg); err != nil {
		return nil, fmt.Errorf("cannot say what %s exports: %w", pkg.Path(), err)
	}
	return buf.Bytes(), nil
}

// importTypes is the reverse of exportTypes.
func importTypes(
	fset *token.FileSet, imported map[string]*types.Package, text []byte, path string,
) (*types.Package, error) {
	return gcexportdata.Read(bytes.NewReader(text), fset, imported, path)
}
