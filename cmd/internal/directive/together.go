package directive

import (
	"errors"

	"github.com/lockgen/lockgen/internal/cronspec"
)

// together checks the options against each other.
func (p *reader) together() {
	d := p.d
	if !p.hasKey {
		p.add(d.Pos(), d.End(), "key-missing",
			"the directive has no key, so there is nothing to lock: write key=…, such as //lock:key=order:{id},ttl=30s")
	} else if !p.keyFirst {
		p.add(d.Pos(), d.End(), "key-first",
			"the first line has no key: start with the line that holds key=…, the others extend it")
	}
	if !p.given("ttl") {
		p.add(d.Pos(), d.End(), "ttl-missing",
			"ttl is missing: it is how long a lock outlives a holder that died; write ttl=30s")
	}
	if !p.given("cron") {
		p.needCron()
	}
	p.repeatedKeys()
	p.conflicts(d, false)
	p.schedule(d, false)
}

func (p *reader) given(name string) bool {
	_, ok := p.seen[name]
	return ok
}

func (p *reader) needCron() {
	for i := range options {
		o := &options[i]
		if v := o.given(p.d); o.cron && v != nil {
			a := v.Written()
			p.add(a.Pos, a.End, "cron-only",
				"%s is for scheduled jobs and the directive has no cron: add cron=\"0 3 * * *\", or delete %s", o.name, o.name)
		}
	}
}

// repeatedKeys reports a key that is given twice: the second adds nothing, so it was meant to be another one.
func (p *reader) repeatedKeys() {
	first := map[string]bool{}
	for _, k := range p.d.Keys {
		text := k.text()
		if first[text] {
			p.add(k.Pos, k.End, "key-repeat", "the key %s is given twice, and a lock is taken once: change or delete one",
				shown(text))
		}
		first[text] = true
	}
}

// text is the key as written, without quotes.
func (k *Key) text() string {
	if k.Const != nil {
		return k.Const.String()
	}
	return k.Template.String()
}

// schedule reports a cron specification or a zone that is wrong, each where it is written. It takes turns like
// conflicts.
func (ps *problems) schedule(d *Directive, constants bool) {
	spec, zone := d.Cron, d.TZ
	if spec != nil && spec.Const != nil && spec.Const.Object == nil || zone != nil && zone.Const != nil &&
		zone.Const.Object == nil {
		return
	}
	if constants != (spec != nil && spec.Const != nil || zone != nil && zone.Const != nil) {
		return
	}
	found := false
	if zone != nil {
		if err := parseCron("0 0 * * *", zone.Value); err != nil {
			ps.add(zone.ValuePos, zone.ValueEnd, "cron", "tz is wrong: %v", err)
			found = true
		}
	}
	if spec == nil {
		return
	}
	if err := parseCron(spec.Value, ""); err != nil {
		ps.add(spec.ValuePos, spec.ValueEnd, "cron", "cron spec %s is wrong: %v", shown(spec.Value), err)
		found = true
	}
	if found || zone == nil {
		return
	}
	if err := parseCron(spec.Value, zone.Value); err != nil {
		ps.add(zone.ValuePos, zone.ValueEnd, "cron", "tz does not go with this cron spec: %v", err)
	}
}

// parseCron is cronspec.Parse without the spec in front of its error: the problem points at it.
func parseCron(spec, zone string) error {
	_, err := cronspec.Parse(spec, zone)
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
