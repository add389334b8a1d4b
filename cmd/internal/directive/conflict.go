package directive

// A conflict is a pair of options that can contradict each other.
type conflict struct {
	with  string // the other option
	worth bool   // when looks at values that constants can have
	// when is asked if the option that has the conflict is given; the key is the one that has it, nil for an option of all.
	when func(*Directive, *Key) bool
	say  func(d *Directive) string // what is wrong, and what to do
}

var maxholdRenew = conflict{
	with: "renew",
	when: func(d *Directive, _ *Key) bool { return !d.Renews() },
	say: func(*Directive) string {
		return "maxhold ends renewal and renew=false has none, the lease ends after its ttl anyway: delete one of them"
	},
}

var minholdMaxhold = conflict{
	with: "maxhold", worth: true,
	when: func(d *Directive, _ *Key) bool { return d.MaxHold != nil && d.MinHold.Value > d.MaxHold.Value },
	say: func(d *Directive) string {
		return "minhold " + FormatDuration(d.MinHold.Value) + " is longer than maxhold " + FormatDuration(d.MaxHold.Value) +
			", after which the lock is given up: shorten minhold, or raise maxhold"
	},
}

var busyWait = conflict{
	with: "wait",
	when: func(d *Directive, _ *Key) bool { return d.SkipsBusy() && d.Wait != nil && d.Wait.Forever },
	say: func(*Directive) string {
		return "busy=skip says what to do when the wait is over, and wait=forever never is: delete one of them, or bound " +
			"the wait"
	},
}

var txCron = conflict{
	with: "cron",
	when: func(d *Directive, _ *Key) bool { return d.Cron != nil },
	say: func(*Directive) string {
		return "the locks of a job are held by the scheduler, which begins no transaction: schedule a function that calls " +
			"the one with tx"
	},
}

// conflicts reports options that contradict each other. Parse asks with constants false and looks at what is written
// out; Bind asks with constants true, once it knows what they are worth, and looks at the pairs with one of those.
func (ps *problems) conflicts(d *Directive, constants bool) {
	for i := range options {
		o := &options[i]
		for _, k := range o.owners(d) {
			if v := o.of(d, k); v != nil {
				ps.conflictsOf(o, d, k, v, constants)
			}
		}
	}
}

func (ps *problems) conflictsOf(o *option, d *Directive, k *Key, v OptionValue, constants bool) {
	for _, c := range o.against {
		if c.decidable(d, k, v, constants) && c.when(d, k) {
			at := v.Written()
			ps.add(at.Pos, at.End, "conflict", "%s", c.say(d))
			return
		}
	}
}

// decidable reports whether a pair can be judged with what is known. Where values do not matter, the text is enough.
func (c *conflict) decidable(d *Directive, k *Key, v OptionValue, constants bool) bool {
	if !c.worth {
		return !constants
	}
	some := false
	for _, v := range []OptionValue{v, optionNamed(c.with).of(d, k)} {
		if v == nil || v.Constant() == nil {
			continue
		}
		if v.Constant().Object == nil {
			return false
		}
		some = true
	}
	return some == constants
}
