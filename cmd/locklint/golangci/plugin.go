// Package golangci is locklint as a module plugin of golangci-lint. It is a module of its own, so that nobody else gets
// golangci-lint's registry among their dependencies.
//
// golangci-lint builds a binary with its plugins from a file named .custom-gcl.yml:
//
//	version: v2.12.2
//	plugins:
//	  - module: github.com/lockgen/lockgen/cmd/locklint/golangci
//	    version: latest
//
// after golangci-lint custom, .golangci.yml switches the linter on. Both settings are lists of check IDs and may be
// left out: enable runs only these checks, also such that are off by default, disable all but these; enable: [all] runs
// every check.
//
//	version: "2"
//	linters:
//	  enable: [locklint]
//	  settings:
//	    custom:
//	      locklint:
//	        type: module
//	        settings:
//	          disable: [LL2003]
//
// golangci-lint knows no severities, and puts the ID of the check in front of each message by itself. It makes an issue
// of its own of each related place; those stand in the text instead. Both //nolint:locklint and
// //locklint:ignore LL2002 reason silence a finding.
package golangci

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis"
)

func init() { register.Plugin("locklint", New) }

// Settings are what .golangci.yml can say.
type Settings struct {
	Enable  []string `json:"enable"`
	Disable []string `json:"disable"`
}

// New makes the plugin. It is what golangci-lint calls with the settings as it has read them.
func New(raw any) (register.LinterPlugin, error) {
	settings, err := register.DecodeSettings[Settings](raw)
	if err != nil {
		return nil, fmt.Errorf("locklint: cannot understand the settings: %w", err)
	}
	on, err := lookup(settings.Enable)
	if err != nil {
		return nil, err
	}
	off, err := lookup(settings.Disable)
	if err != nil {
		return nil, err
	}
	p := &plugin{}
	plain := plainAnalyzers()
	for _, c := range lockcheck.Checks {
		if (len(on) == 0 && !c.Off || slices.Contains(on, c)) && !slices.Contains(off, c) {
			p.analyzers = append(p.analyzers, plain[c.Analyzer])
		}
	}
	if len(p.analyzers) == 0 {
		return nil, fmt.Errorf("locklint: the settings leave no check to run")
	}
	return p, nil
}

func lookup(ids []string) ([]*lockcheck.Check, error) {
	var list []*lockcheck.Check
	for _, id := range ids {
		if strings.EqualFold(id, "all") {
			list = append(list, lockcheck.Checks...)
			continue
		}
		c := lockcheck.Lookup(id)
		if c == nil {
			return nil, fmt.Errorf("locklint: the settings name a check %q that there is not: locklint -h lists them",
				id)
		}
		list = append(list, c)
	}
	return list, nil
}

// plainAnalyzers are the analyzers of the checks as golangci-lint wants them: without the ID in front of the messages,
// and without related places. One that requires another requires the plain one, so that none runs twice.
func plainAnalyzers() map[*analysis.Analyzer]*analysis.Analyzer {
	plain := map[*analysis.Analyzer]*analysis.Analyzer{}
	for _, c := range lockcheck.Checks {
		a := *c.Analyzer
		a.Run = func(pass *analysis.Pass) (any, error) {
			sub := *pass
			sub.Report = func(d analysis.Diagnostic) {
				d.Message = strings.TrimPrefix(d.Message, c.ID+": ")
				d.Related = nil
				pass.Report(d)
			}
			return c.Analyzer.Run(&sub)
		}
		plain[c.Analyzer] = &a
	}
	for _, a := range plain {
		a.Requires = slices.Clone(a.Requires)
		for i, req := range a.Requires {
			if other := plain[req]; other != nil {
				a.Requires[i] = other
			}
		}
	}
	return plain
}

type plugin struct{ analyzers []*analysis.Analyzer }

func (p *plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return p.analyzers, nil }

// GetLoadMode asks for types: the checks read them.
func (p *plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
