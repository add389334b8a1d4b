package gen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/internal/cronspec"
	cronwords "github.com/lockgen/lockgen/internal/cronspec/words"
)

// A Listing is every lock and job of some packages, in the order of their files.
type Listing struct {
	Functions  []Function  `json:"functions"`
	Collisions []Collision `json:"collisions"`
}

// A Function is one with a directive. In JSON its options stand beside the other fields.
type Function struct {
	Package  string  `json:"package"`
	Function string  `json:"function"`
	File     string  `json:"file"`
	Line     int     `json:"line"`
	Column   int     `json:"column"`
	Build    string  `json:"build,omitempty"` // the constraint that it is built under
	Wrapper  string  `json:"wrapper"`
	Locker   string  `json:"locker"`
	Keys     []Key   `json:"keys"`
	Mode     string  `json:"mode"`
	Defaults string  `json:"defaults,omitempty"` // where the package says what applies here: file:line
	Job      *Job    `json:"job,omitempty"`
	Options  Options `json:"-"`
}

// MarshalJSON writes the function with its options.
func (f Function) MarshalJSON() ([]byte, error) {
	type plain Function
	return withOptions(plain(f), f.Options)
}

// A Key is a template with the types of its placeholders.
type Key struct {
	Template     string        `json:"template"`
	Text         string        `json:"text,omitempty"` // of a constant
	Placeholders []Placeholder `json:"placeholders,omitempty"`
}

// Typed is the template with the types of its placeholders: order:{id int64}.
func (key Key) Typed() string {
	text := key.Template
	if key.Text != "" {
		return fmt.Sprintf("%s (%s)", text, key.Text)
	}
	for _, p := range key.Placeholders {
		for _, end := range []string{"}", "?", "|"} {
			if old := "{" + p.Name + end; strings.Contains(text, old) {
				text = strings.Replace(text, old, "{"+p.Name+" "+p.Type+end, 1)
				break
			}
		}
	}
	return text
}

// A Placeholder is what a key reads.
type Placeholder struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// A Job is when and how a function is scheduled. In JSON its options stand beside the other fields.
type Job struct {
	Name    string      `json:"name"`
	Cron    string      `json:"cron"`
	Words   string      `json:"words"`
	Zone    string      `json:"zone,omitempty"` // empty: that of the process
	Next    []time.Time `json:"next"`
	Options Options     `json:"-"`
}

// MarshalJSON writes the job with its options.
func (j Job) MarshalJSON() ([]byte, error) {
	type plain Job
	return withOptions(plain(j), j.Options)
}

// List reads the directives of all packages. Ticks are those after a moment. It writes nothing.
func List(ctx context.Context, cfg Config, after time.Time) (*Listing, []Problem, error) {
	g, err := understand(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	result, err := g.result()
	if err != nil || len(result.Problems) > 0 {
		return nil, result.Problems, err
	}
	list := &Listing{Functions: []Function{}, Collisions: append([]Collision{}, g.collisions()...)}
	slices.SortFunc(g.units, func(a, b *unit) int {
		return compareRefs(g.keyRef(a, a.Keys[0]), g.keyRef(b, b.Keys[0]))
	})
	for _, u := range g.units {
		list.Functions = append(list.Functions, g.function(u, after))
	}
	return list, nil, nil
}

func (g *generator) function(u *unit, after time.Time) Function {
	d, at := u.Directive, g.position(u)
	f := Function{Package: u.pkg.Path(), Function: u.funcName(), File: relative(g.cfg.Dir, at.Filename), Line: at.Line,
		Column: at.Column, Build: u.set.buildText(), Wrapper: u.Name, Locker: u.lockerText(), Mode: "exclusive",
		Defaults: g.defaultsAt(u), Options: d.List(false)}
	for _, key := range u.Keys {
		f.Keys = append(f.Keys, u.listed(key))
	}
	if d.Cron != nil {
		f.Job = u.job(after)
	}
	return f
}

func (u *unit) listed(key *directive.BoundKey) Key {
	k := Key{Template: keyText(key.Key)}
	if key.Key.Const != nil {
		k.Text = key.Prefix()
	}
	for _, part := range key.Parts {
		if part.Hole != nil {
			k.Placeholders = append(k.Placeholders, Placeholder{part.Hole.Name(), part.Value.TypeText(u.pkg)})
		}
	}
	return k
}

// lockerText says where the wrapper takes its Locker from.
func (u *unit) lockerText() string {
	w := &wrapper{unit: u, recv: "receiver", locks: "locks (parameter)"}
	if u.Recv != nil && u.Recv.Name != "" {
		w.recv = u.Recv.Name
	}
	for _, p := range u.Params {
		w.params = append(w.params, p.Name)
	}
	text := w.rootOf(&u.Locker)
	if l := u.Locker; l.From == directive.FromPackage && l.Pkg != nil {
		text = l.Pkg.Name() + "." + text
	}
	for _, field := range u.Locker.Fields {
		text += "." + field
	}
	return text
}

func (u *unit) job(after time.Time) *Job {
	d := u.Directive
	j := &Job{Name: u.jobName(), Cron: d.Cron.Value, Words: cronwords.Of(d.Cron.Value), Options: d.List(true)}
	if d.TZ != nil {
		j.Zone = d.TZ.Value
	}
	schedule, err := cronspec.Parse(d.Cron.Value, j.Zone)
	if err != nil {
		return j // reported when the directive was bound
	}
	if j.Zone == "" {
		j.Zone = cronspec.Zone(d.Cron.Value)
	}
	at := after
	if loc, err := time.LoadLocation(j.Zone); j.Zone != "" && err == nil {
		at = at.In(loc)
	}
	for range 3 {
		at = schedule.Next(at)
		j.Next = append(j.Next, at)
	}
	return j
}
