// Package lockchaos tests a lock store with real processes. They use a few locks in all ways, while they are killed,
// stopped and cut off, the server is restarted and locks are broken. A witness outside hears what each of them believes:
// no two contexts of one key are alive at the same time, fences grow in the order of acquisition, who waits is served in
// the end, and nothing is left behind.
//
// The processes run the test binary itself, so its TestMain must begin with BeProcess. LOCKGEN_SEED repeats the plan of
// a run, though not what the machine makes of it; LOCKGEN_SOAK makes it long.
package lockchaos

import lockrt "github.com/lockgen/lockgen/runtime"

// Kind is what those have in common who may hold a key together, or "writer".
func Kind(o lockrt.Options) string {
	switch {
	case o.Permits > 0:
		return "permit"
	case o.Mode == lockrt.Read:
		return "reader"
	}
	return "writer"
}
