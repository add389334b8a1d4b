package decls

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"sync"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/output"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/parallel"
)

// Sources parses files, each once. Platforms share it.
type Sources struct {
	Fset *token.FileSet
	mu   sync.Mutex
	// by path; nil for a file that cannot be read, and for lockgen's own output
	ast    map[string]*ast.File
	broken map[string]bool // those that cannot be read, or only in part
}

// NewSources has parsed nothing yet.
func NewSources() *Sources {
	return &Sources{Fset: token.NewFileSet(), ast: map[string]*ast.File{}, broken: map[string]bool{}}
}

// Add takes a file that has been parsed with its comments.
func (s *Sources) Add(path string, file *ast.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ast[path] = file
}

// Parse returns a file without comments, or with them if it is a candidate that was parsed before. A syntax error
// leaves what the parser could make of the rest.
func (s *Sources) Parse(path string) *ast.File {
	s.mu.Lock()
	file, ok := s.ast[path]
	s.mu.Unlock()
	if ok {
		return file
	}
	content, err := files.Read(path)
	if err == nil && !output.Is(filepath.Base(path), content) {
		file, err = parser.ParseFile(s.Fset, path, content, parser.SkipObjectResolution)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ast[path], s.broken[path] = file, err != nil
	return file
}

// Read is Parse, and tells whether that is the whole file. It is also for an output, which there is nothing to read in.
func (s *Sources) Read(path string) (file *ast.File, complete bool) {
	file = s.Parse(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	return file, !s.broken[path]
}

// ParseAll parses files side by side. It leaves out those that Parse has nothing of.
func (s *Sources) ParseAll(paths []string) []*ast.File {
	parsed := make([]*ast.File, len(paths))
	parallel.For(len(paths), func(i int) { parsed[i] = s.Parse(paths[i]) })
	var files []*ast.File
	for _, file := range parsed {
		if file != nil {
			files = append(files, file)
		}
	}
	return files
}
