package lockcheck

import "testing"

// TestPathChecks is TestChecks for the checks of paths.
func TestPathChecks(t *testing.T) {
	runChecks(t, []checkTest{
		{ll1002, false, []string{"ll1002", "ll1002/program"}},
		{ll1006, false, []string{"ll1006"}},
		{ll1007, false, []string{"ll1007"}},
		{ll1008, true, []string{"ll1008"}},
		{ll1009, false, []string{"ll1009"}},
		{ll1010, false, []string{"ll1010"}},
		{ll1011, false, []string{"ll1011"}},
		{ll1012, true, []string{"ll1012"}},
		{ll1013, false, []string{"ll1013"}},
		{ll1014, false, []string{"ll1014"}},
		{ll1016, false, []string{"ll1016"}},
		{ll1017, false, []string{"ll1017"}},
		{ll3001, false, []string{"ll3001"}},
		{ll3002, false, []string{"ll3002"}},
		{ll3003, false, []string{"ll3003"}},
		{ll3004, false, []string{"ll3004"}},
		{ll3005, true, []string{"ll3005"}},
		{ll3006, false, []string{"ll3006"}},
		{ll3007, false, []string{"ll3007"}},
		{ll3008, true, []string{"ll3008"}},
	})
}
