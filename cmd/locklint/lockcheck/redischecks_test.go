package lockcheck

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestRedisChecks runs each check of hand-rolled locks on the package named after it.
func TestRedisChecks(t *testing.T) {
	for _, tt := range []struct {
		check   *Check
		pattern string
	}{
		{ll2003, "ll2003"}, {ll2004, "ll2004"}, {ll2006, "ll2006"}, {ll2007, "ll2007"},
		{ll2008, "ll2008"}, {ll2009, "ll2009"}, {ll2010, "ll2010"}, {ll2011, "ll2011"},
	} {
		t.Run(tt.check.ID, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), tt.check.Analyzer, tt.pattern)
		})
	}
}

// TestRecipes runs the whole catalogue on the hand-rolled locks of well-known articles.
func TestRecipes(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), everything, "recipes")
}
