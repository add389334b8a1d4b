package directive

// A kind says how an option's value is read.
type kind uint8

const (
	kindKey kind = iota
	kindDuration
	kindWait // a duration, 0 or forever
	kindBool
	kindWord // one of words
	kindIdent
	kindPath
	kindText
	kindReason // text that is never a constant
	kindInt
)

// An option is one row of the documentation's table. The order of the table is the canonical order.
type option struct {
	name  string
	kind  kind
	words []string             // of kindWord
	cron  bool                 // only for scheduled jobs
	own   bool                 // each function's: a package has no default of it
	slot  func(*Directive) any // pointer to the field that holds it; nil for key
	ask   string               // an example value for messages
}

var options = []option{
	{name: "key", kind: kindKey, own: true, ask: "order:{id}"},
	{name: "ttl", kind: kindDuration, ask: "30s", slot: func(d *Directive) any { return &d.TTL }},
	{name: "wait", kind: kindWait, ask: "5s", slot: func(d *Directive) any { return &d.Wait }},
	{name: "renew", kind: kindBool, ask: "false", slot: func(d *Directive) any { return &d.Renew }},
	{name: "maxhold", kind: kindDuration, ask: "10m", slot: func(d *Directive) any { return &d.MaxHold }},
	{name: "minhold", kind: kindDuration, ask: "5s", slot: func(d *Directive) any { return &d.MinHold }},
	{name: "reentrant", kind: kindBool, ask: "false", slot: func(d *Directive) any { return &d.Reentrant }},
	{name: "busy", kind: kindWord, words: []string{"error", "skip"}, ask: "skip",
		slot: func(d *Directive) any { return &d.Busy }},
	{name: "func", kind: kindIdent, own: true, ask: "PlaceOrder", slot: func(d *Directive) any { return &d.Func }},
	{name: "locker", kind: kindPath, ask: "s.locks", slot: func(d *Directive) any { return &d.Locker }},
	{name: "shared", kind: kindReason, own: true, ask: `"both change the stock"`,
		slot: func(d *Directive) any { return &d.Shared }},
	{name: "cron", kind: kindText, own: true, ask: `"0 3 * * *"`, slot: func(d *Directive) any { return &d.Cron }},
	{name: "tz", kind: kindText, cron: true, ask: "Europe/Berlin", slot: func(d *Directive) any { return &d.TZ }},
	{name: "job", kind: kindText, own: true, cron: true, ask: "nightly-report",
		slot: func(d *Directive) any { return &d.Job }},
	{name: "misfire", kind: kindWord, words: []string{"skip", "once", "all"}, cron: true, ask: "once",
		slot: func(d *Directive) any { return &d.Misfire }},
	{name: "overlap", kind: kindWord, words: []string{"skip", "queue", "replace", "allow"}, cron: true, ask: "skip",
		slot: func(d *Directive) any { return &d.Overlap }},
	{name: "timeout", kind: kindDuration, cron: true, ask: "10m", slot: func(d *Directive) any { return &d.Timeout }},
	{name: "retries", kind: kindInt, cron: true, ask: "3", slot: func(d *Directive) any { return &d.Retries }},
	{name: "jitter", kind: kindDuration, cron: true, ask: "10s", slot: func(d *Directive) any { return &d.Jitter }},
}

// optionNamed is the row of a name, nil if there is none.
func optionNamed(name string) *option { return namedIn(options, name) }

func namedIn(rows []option, name string) *option {
	for i := range rows {
		if rows[i].name == name {
			return &rows[i]
		}
	}
	return nil
}

func optionNames() []string { return namesOf(options) }

func namesOf(rows []option) []string {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].name
	}
	return names
}

// written is the argument that gave the option, nil if it was not given.
func (o *option) written(d *Directive) *Arg {
	if o.slot == nil {
		if len(d.Keys) == 0 {
			return nil
		}
		return &d.Keys[0].Arg
	}
	switch p := o.slot(d).(type) {
	case **Duration:
		if *p != nil {
			return &(*p).Arg
		}
	case **String:
		if *p != nil {
			return &(*p).Arg
		}
	case **Bool:
		if *p != nil {
			return &(*p).Arg
		}
	case **Int:
		if *p != nil {
			return &(*p).Arg
		}
	}
	return nil
}
