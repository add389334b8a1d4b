package precision

import (
	"fmt"
	"math"
)

// A Rate is how many of how many.
type Rate struct{ Right, All int }

func (r *Rate) add(right bool) {
	r.All++
	if right {
		r.Right++
	}
}

// z is the quantile of the normal distribution that leaves 95 % between the two bounds.
const z = 1.959964

// Wilson returns the bounds of Wilson's 95 % interval. Unlike the usual one it makes sense for small numbers and for
// rates of 0 and 1, which is all that there is here.
func (r Rate) Wilson() (low, high float64) {
	if r.All == 0 {
		return 0, 1
	}
	n, p := float64(r.All), float64(r.Right)/float64(r.All)
	mid := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return max(0, (mid-half)/scale), min(1, (mid+half)/scale)
}

// String returns the rate in percent with its interval, as three cells of a table.
func (r Rate) String() string {
	if r.All == 0 {
		return "0 | – | –"
	}
	low, high := r.Wilson()
	return fmt.Sprintf("%d of %d | %.0f %% | %.0f–%.0f %%", r.Right, r.All, 100*float64(r.Right)/float64(r.All),
		100*low, 100*high)
}
