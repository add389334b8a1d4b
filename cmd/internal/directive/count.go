package directive

import (
	"fmt"
	"math"
)

// A count says which numbers an option takes, and what they count.
type count struct {
	min, max int
	slug     string // of the problem
	say      string // after "retries is -1: "
	one      string // what to say of the number 1, if it is refused
}

var plainCount = count{max: math.MaxInt32, slug: "number", say: "write a whole number"}

var permitCount = count{min: 2, max: 1000, slug: "permits",
	say: "write how many may hold the lock at a time, from 2 to 1000",
	one: "a lock with one holder needs no permits and is another kind of lock with them: drop permits=1"}

// counts is what the numbers of an option count.
func (o *option) counts() *count {
	if o.count == nil {
		return &plainCount
	}
	return o.count
}

// refuses says what is wrong with a number, "" if nothing is. Written is its text, which need not be a number.
func (c *count) refuses(o *option, written string, n int64, isNumber bool) string {
	switch {
	case isNumber && n == 1 && c.one != "":
		return fmt.Sprintf("%s is %s: %s", o.name, written, c.one)
	case !isNumber || n < int64(c.min) || n > int64(c.max):
		return fmt.Sprintf("%s is %s: %s, such as %s=%s", o.name, written, c.say, o.name, o.ask)
	}
	return ""
}
