package lockcheck

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestRedisChecks runs each check of hand-rolled locks on the package named after it.
func TestRedisChecks(t *testing.T) {
	runChecks(t, []checkTest{
		{ll2003, false, []string{"ll2003"}},
		{ll2004, false, []string{"ll2004", "versions/v6tx", "versions/v7tx"}},
		{ll2006, false, []string{"ll2006"}},
		{ll2007, false, []string{"ll2007"}},
		{ll2008, false, []string{"ll2008"}},
		{ll2009, false, []string{"ll2009"}},
		{ll2010, false, []string{"ll2010"}},
		{ll2011, false, []string{"ll2011"}},
	})
}

// TestRecipes runs the whole catalogue on the hand-rolled locks of well-known articles.
func TestRecipes(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), everything, "recipes")
}
