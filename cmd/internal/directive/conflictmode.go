package directive

import "slices"

var modePermits = conflict{
	with: "permits",
	when: func(_ *Directive, k *Key) bool { return k.Permits != nil },
	say: func(*Directive) string {
		return "mode is for one writer or many readers and permits for a number of equal holders, a key has one of them: " +
			"delete the other"
	},
}

var readMinhold = conflict{
	with: "minhold",
	when: func(d *Directive, k *Key) bool { return k.Reads() && d.MinHold != nil },
	say: func(*Directive) string {
		return "minhold keeps the lock after the function, and a reader that is gone would keep writers away: delete minhold, " +
			"or take mode=write"
	},
}

var readTx = conflict{
	with: "tx",
	when: func(d *Directive, k *Key) bool { return k.Reads() && d.Tx != nil },
	say: func(*Directive) string {
		return "tx guards what the function writes, and under mode=read others read meanwhile: take mode=write, or begin a " +
			"read-only transaction in the function"
	},
}

var readReplace = conflict{
	with: "overlap",
	when: func(d *Directive, k *Key) bool { return k.Reads() && d.replaces() },
	say: func(*Directive) string {
		return "overlap=replace takes the lock from the run before, and with mode=read that one holds it beside this one: " +
			"write overlap=allow, or take mode=write"
	},
}

var readCron = conflict{
	with: "cron",
	when: func(d *Directive, k *Key) bool {
		return d.Cron != nil && !d.allows() && k == d.Keys[0] && !slices.ContainsFunc(d.Keys, func(k *Key) bool { return !k.Reads() })
	},
	say: func(*Directive) string {
		return "runs of a job that only reads hold the lock together, so nothing would keep them apart: write overlap=allow, " +
			"or add a key of the job's own"
	},
}

var permitsOverlap = conflict{
	with: "overlap",
	when: func(d *Directive, _ *Key) bool { return d.replaces() || d.allows() },
	say: func(d *Directive) string {
		if d.allows() {
			return "permits bounds how many runs there are at a time, and overlap=allow bounds nothing: delete one of them"
		}
		return "overlap=replace takes the lock from its holder, and with permits there are several: write overlap=skip or " +
			"overlap=queue"
	},
}

func (d *Directive) replaces() bool { return d.Overlap != nil && d.Overlap.Value == "replace" }

func (d *Directive) allows() bool { return d.Overlap != nil && d.Overlap.Value == "allow" }

var permitsTx = conflict{
	with: "tx",
	when: func(d *Directive, _ *Key) bool { return d.Tx != nil && d.Mixed() },
	say: func(*Directive) string {
		return "a function with tx holds all its keys in one way, and another key has other permits or none: give all the same, " +
			"or call a function with tx under a lock of its own"
	},
}
