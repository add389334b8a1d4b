package cronspec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is what one position of a spec may hold.
type field struct {
	name     string
	min, max int
	names    []string // names[i] stands for min+i
}

var fields = []field{
	{name: "second", max: 59},
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day-of-month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
	{name: "day-of-week", max: 6, names: strings.Fields("sun mon tue wed thu fri sat")},
}

// checkFields refuses what robfig would refuse with less to go on, and what it
// would accept and silently turn into something else.
func checkFields(words []string) error {
	var fs []field
	switch len(words) {
	case 5:
		fs = fields[1:]
	case 6:
		fs = fields
	default:
		return fmt.Errorf("it has %d fields: write five (minute hour day-of-month month day-of-week), or six with the second first", len(words))
	}
	for i, f := range fs {
		for _, elem := range strings.Split(words[i], ",") {
			if err := f.check(elem); err != nil {
				return fmt.Errorf("%s field %q: %w", f.name, words[i], err)
			}
		}
	}
	return nil
}

// check looks at one element of a list: value, low-high, or one of them with
// a /step.
func (f field) check(elem string) error {
	if elem == "" {
		return fmt.Errorf("it has an empty list element: write a value between the commas or delete one, * for any")
	}
	span, step, hasStep := strings.Cut(elem, "/")
	if hasStep {
		if err := f.checkStep(step); err != nil {
			return err
		}
	}
	if span == "*" || span == "?" {
		return nil
	}
	low, high, isRange := strings.Cut(span, "-")
	from, err := f.value(low)
	if err != nil {
		return err
	}
	if !isRange {
		return nil
	}
	to, err := f.value(high)
	if err != nil {
		return err
	}
	if from > to {
		return fmt.Errorf("the range %s runs backwards: write it in two parts, %s", span, f.unwrap(low, from, high, to))
	}
	return nil
}

func (f field) checkStep(step string) error {
	n, err := number(step)
	switch width := f.max - f.min; {
	case err != nil:
		return fmt.Errorf("step %q is not a number: write /1 to /%d", step, width)
	case n == 0:
		return fmt.Errorf("step 0 goes nowhere: write /1 to /%d", width)
	case n > width:
		return fmt.Errorf("step %d is wider than the field (%d-%d), so only its first value would ever match: write that value, or /1 to /%d", n, f.min, f.max, width)
	}
	return nil
}

func (f field) value(s string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(s)); i >= 0 {
		return f.min + i, nil
	}
	n, err := number(s)
	switch {
	case err != nil && f.names != nil:
		return 0, fmt.Errorf("%q is neither a number nor one of %s: write %s", s, strings.Join(f.names, " "), f.allowed())
	case err != nil:
		return 0, fmt.Errorf("%q is not a number (L, W, # and H are not supported): write %s", s, f.allowed())
	case n == 7 && f.name == "day-of-week":
		return 0, fmt.Errorf("7 is not a day: write 0 or sun for Sunday")
	case n < f.min:
		return 0, fmt.Errorf("%d is below %d: write %s", n, f.min, f.allowed())
	case n > f.max:
		return 0, fmt.Errorf("%d is above %d: write %s", n, f.max, f.allowed())
	}
	return n, nil
}

func (f field) allowed() string {
	s := fmt.Sprintf("%d-%d", f.min, f.max)
	if f.names != nil {
		s += fmt.Sprintf(", %s-%s", f.names[0], f.names[len(f.names)-1])
	}
	return s + " or *"
}

// unwrap spells a backwards range such as 22-2 as 22-23,0-2.
func (f field) unwrap(low string, from int, high string, to int) string {
	first, second := low+"-"+strconv.Itoa(f.max), strconv.Itoa(f.min)+"-"+high
	if from == f.max {
		first = low
	}
	if to == f.min {
		second = high
	}
	return first + "," + second
}

// number reads digits only: strconv.Atoi alone would let signs through, and
// "-5" or "+5" in a field is a slip.
func number(s string) (int, error) {
	if strings.Trim(s, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(s)
}
