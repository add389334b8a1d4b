package directive

import "fmt"

// A Difference is an option that two directives set to different values.
type Difference struct {
	Arg       Arg    // as the first one gives it; zero if it does not
	Name      string // of the option
	Now, Then string // the values, as directives write them
}

// Differences are the options in which a directive differs from an earlier one, in the order of the documentation.
func Differences(now, then *Directive) []Difference {
	var all []Difference
	for i := range options {
		o := &options[i]
		was, is := o.values(then), o.values(now)
		if o.kind == kindReason || o.cron && (now.Cron == nil || then.Cron == nil) {
			continue // it changes no code, or cron says it all
		}
		if o.kind == kindKey && len(was) != len(is) {
			all = append(all, Difference{now.Keys[len(is)-1].Arg, "the number of keys", fmt.Sprint(len(is)), fmt.Sprint(len(was))})
			continue
		}
		if o.ofKey != nil {
			all = append(all, o.differences(now, then)...)
			continue
		}
		for n := range max(len(was), len(is)) {
			d := Difference{Name: o.name, Now: o.missing(), Then: o.missing()}
			if n < len(is) {
				d.Arg, d.Now = is[n].Written(), is[n].String()
			}
			if n < len(was) {
				d.Then = was[n].String()
			}
			if d.Now != d.Then {
				all = append(all, d)
			}
		}
	}
	return all
}

// differences are those of what each key has of its own.
func (o *option) differences(now, then *Directive) []Difference {
	var all []Difference
	for n := range min(len(now.Keys), len(then.Keys)) {
		d := Difference{Name: o.name, Now: o.missing(), Then: o.missing()}
		if v := o.of(now, now.Keys[n]); v != nil {
			d.Arg, d.Now = v.Written(), v.String()
		}
		if v := o.of(then, then.Keys[n]); v != nil {
			d.Then = v.String()
		}
		if d.Now != d.Then {
			all = append(all, d)
		}
	}
	return all
}

// missing is what messages say where an option is not given.
func (o *option) missing() string {
	if o.list.unset != nil {
		return fmt.Sprint(o.list.unset)
	}
	return "missing"
}
