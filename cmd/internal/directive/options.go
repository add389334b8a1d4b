package directive

// A Directive is what the //lock: lines of one comment say. Options that were not written are nil.
type Directive struct {
	Lines []Line // as written, in order
	Keys  []*Key // in the order written, at least one unless there are problems

	TTL       *Duration
	Wait      *Duration // nil means try once; Forever is possible
	Renew     *Bool     // nil means true
	MaxHold   *Duration
	MinHold   *Duration
	Reentrant *Bool   // nil means false
	Busy      *String // "error" or "skip"; nil means error
	Func      *String // name of the wrapper, a valid identifier
	Locker    *String // a dotted path of identifiers; Bind resolves it
	Tx        *String // a dotted path to a *sql.DB; Bind resolves it
	Shared    *String // why the lock is meant to be that of other functions too

	Cron    *String // non-nil makes the function a scheduled job
	TZ      *String
	Job     *String
	Misfire *String // "skip", "once" or "all"
	Overlap *String // "skip", "queue", "replace" or "allow"
	Timeout *Duration
	Retries *Int
	Jitter  *Duration

	Defaults *Defaults // of the package, once Apply has brought them in; nil if it has none

	prefix, out *String // of the defaults of a package only
}

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
	words []string              // of kindWord
	cron  bool                  // only for scheduled jobs
	own   bool                  // each function's: a package has no default of it
	ask   string                // an example value for messages
	slot  func(*Directive) slot // the field that holds it; nil for key and for what each key has of its own
	ofKey func(*Key) slot       // the field of a key that holds it
	count *count                // of kindInt; nil for any number that is not negative
	sets  Field                 // what it becomes in generated code
	list  listing               // how lockgen list -json shows it
	lease bool                  // functions that share a lock on purpose agree on it
	// against are the options that it may contradict. What is wrong is reported where this option stands.
	against []conflict
}

var options = []option{
	{name: "key", kind: kindKey, own: true, ask: "order:{id}", sets: byHand, list: listing{elsewhere: true}},
	{name: "ttl", kind: kindDuration, ask: "30s", sets: lockField("TTL"), lease: true,
		slot: func(d *Directive) slot { return field(&d.TTL) }},
	{name: "wait", kind: kindWait, ask: "5s", sets: lockField("Wait"), list: listing{unset: "0"},
		slot: func(d *Directive) slot { return field(&d.Wait) }},
	{name: "renew", kind: kindBool, ask: "false", sets: unlessLockField("NoRenew"), list: listing{unset: true}, lease: true,
		slot: func(d *Directive) slot { return field(&d.Renew) }},
	{name: "maxhold", kind: kindDuration, ask: "10m", sets: lockField("MaxHold"), lease: true,
		slot: func(d *Directive) slot { return field(&d.MaxHold) }, against: []conflict{maxholdRenew}},
	{name: "minhold", kind: kindDuration, ask: "5s", sets: lockField("MinHold"),
		slot: func(d *Directive) slot { return field(&d.MinHold) }, against: []conflict{minholdMaxhold}},
	{name: "reentrant", kind: kindBool, ask: "false", sets: lockField("Reentrant"), list: listing{unset: false},
		slot: func(d *Directive) slot { return field(&d.Reentrant) }},
	{name: "busy", kind: kindWord, words: []string{"error", "skip"}, ask: "skip", sets: byHand,
		list: listing{unset: "error"}, slot: func(d *Directive) slot { return field(&d.Busy) }, against: []conflict{busyWait}},
	{name: "func", kind: kindIdent, own: true, ask: "PlaceOrder", sets: byHand, list: listing{elsewhere: true},
		slot: func(d *Directive) slot { return field(&d.Func) }},
	{name: "locker", kind: kindPath, ask: "s.locks", sets: byHand, list: listing{elsewhere: true},
		slot: func(d *Directive) slot { return field(&d.Locker) }},
	{name: "mode", kind: kindWord, words: []string{"write", "read"}, own: true, ask: "read", sets: byHand,
		list: listing{elsewhere: true, unset: "write"}, ofKey: func(k *Key) slot { return field(&k.Mode) },
		against: []conflict{modePermits, readMinhold, readTx, readReplace, readCron}},
	{name: "permits", kind: kindInt, own: true, ask: "4", sets: byHand, list: listing{elsewhere: true},
		count: &permitCount, ofKey: func(k *Key) slot { return field(&k.Permits) }, against: []conflict{permitsOverlap, permitsTx}},
	{name: "tx", kind: kindPath, own: true, ask: "s.db", sets: byHand, slot: func(d *Directive) slot { return field(&d.Tx) },
		against: []conflict{txCron}},
	{name: "shared", kind: kindReason, own: true, ask: `"both change the stock"`, sets: byHand,
		slot: func(d *Directive) slot { return field(&d.Shared) }},
	{name: "cron", kind: kindText, own: true, ask: `"0 3 * * *"`, sets: jobField("Spec"), list: listing{elsewhere: true},
		slot: func(d *Directive) slot { return field(&d.Cron) }},
	{name: "tz", kind: kindText, cron: true, ask: "Europe/Berlin", sets: jobField("TZ"), list: listing{elsewhere: true},
		slot: func(d *Directive) slot { return field(&d.TZ) }},
	{name: "job", kind: kindText, own: true, cron: true, ask: "nightly-report", sets: jobField(""),
		list: listing{elsewhere: true}, slot: func(d *Directive) slot { return field(&d.Job) }},
	{name: "misfire", kind: kindWord, words: []string{"skip", "once", "all"}, cron: true, ask: "once",
		sets: jobField("Misfire"), slot: func(d *Directive) slot { return field(&d.Misfire) }},
	{name: "overlap", kind: kindWord, words: []string{"skip", "queue", "replace", "allow"}, cron: true, ask: "skip",
		sets: jobField("Overlap"), slot: func(d *Directive) slot { return field(&d.Overlap) }},
	{name: "timeout", kind: kindDuration, cron: true, ask: "10m", sets: jobField("Timeout"),
		slot: func(d *Directive) slot { return field(&d.Timeout) }},
	{name: "retries", kind: kindInt, cron: true, ask: "3", sets: jobField("Retries"),
		slot: func(d *Directive) slot { return field(&d.Retries) }},
	{name: "jitter", kind: kindDuration, cron: true, ask: "10s", sets: jobField("Jitter"),
		slot: func(d *Directive) slot { return field(&d.Jitter) }},
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
