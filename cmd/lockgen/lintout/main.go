// Lintout is a tool for go vet that reads Go as strict reviewers do: with the analyzers of staticcheck, with those that
// go fix applies, and with a few of its own. Its test runs it, and locklint, over what lockgen writes for its torture
// corpus, without the header that makes most tools look away. It is a module of its own so that users do not
// download the tools.
package main

import (
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/modernize"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

func main() { unitchecker.Main(analyzers()...) }

func analyzers() []*analysis.Analyzer {
	all := append(own, ineffassign.Analyzer, nilness.Analyzer, unusedwrite.Analyzer)
	all = append(all, modernize.Suite...)
	for _, list := range [][]*lint.Analyzer{staticcheck.Analyzers, simple.Analyzers, stylecheck.Analyzers} {
		for _, a := range list {
			if a.Analyzer.Name != "ST1000" { // the package's comment is the author's
				all = append(all, a.Analyzer)
			}
		}
	}
	return all
}
