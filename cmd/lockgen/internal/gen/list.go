package gen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockgen/lockgen/cmd/internal/directive"
	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/bound"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/clash"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/problem"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/render"
	"github.com/lockgen/lockgen/internal/cronspec"
	cronwords "github.com/lockgen/lockgen/internal/cronspec/words"
)

// A Listing is every lock and job of some packages, in the order of their files.
type Listing struct {
	Functions  []Function        `json:"functions"`
	Collisions []clash.Collision `json:"collisions"`
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
	Mode         string        `json:"mode,omitempty"` // write or read; "" with permits
	Permits      int           `json:"permits,omitempty"`
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

// Held is how the key is held, in a word.
func (key Key) Held() string {
	switch {
	case key.Permits > 0:
		return fmt.Sprintf("permits=%d", key.Permits)
	case key.Mode == "write":
		return "exclusive"
	}
	return key.Mode
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
func List(ctx context.Context, cfg Config, after time.Time) (*Listing, []problem.Problem, error) {
	g, err := understand(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	result, err := g.result()
	if err != nil || len(result.Problems) > 0 {
		return nil, result.Problems, err
	}
	list := &Listing{Functions: []Function{}, Collisions: append([]clash.Collision{}, clash.Collisions(g.Program)...)}
	slices.SortFunc(g.Funcs, func(a, b *bound.Func) int {
		return clash.CompareRefs(clash.Ref(g.Program, a, a.Keys[0]), clash.Ref(g.Program, b, b.Keys[0]))
	})
	for _, u := range g.Funcs {
		list.Functions = append(list.Functions, g.function(u, after))
	}
	return list, nil, nil
}

func (g *generator) function(u *bound.Func, after time.Time) Function {
	d, at := u.Directive, g.Position(u)
	f := Function{Package: u.Pkg.Path(), Function: u.QualifiedName(),
		File: files.Relative(g.cfg.Dir, at.Filename), Line: at.Line, Column: at.Column, Build: u.Set.BuildText(), Wrapper: u.Name, Locker: render.Locker(u),
		Defaults: g.defaultsAt(u), Options: d.List(false)}
	for _, key := range u.Keys {
		f.Keys = append(f.Keys, listed(u, key))
	}
	if d.Cron != nil {
		f.Job = jobOf(u, after)
	}
	return f
}

func listed(u *bound.Func, key *directive.BoundKey) Key {
	k := Key{Template: clash.KeyText(key.Key), Permits: key.Key.Limit()}
	switch {
	case k.Permits > 0:
	case key.Key.Reads():
		k.Mode = "read"
	default:
		k.Mode = "write"
	}
	if key.Key.Const != nil {
		k.Text = key.Prefix()
	}
	for _, part := range key.Parts {
		if part.Hole != nil {
			k.Placeholders = append(k.Placeholders, Placeholder{part.Hole.Name(), part.Value.TypeText(u.Pkg)})
		}
	}
	return k
}

func jobOf(u *bound.Func, after time.Time) *Job {
	d := u.Directive
	j := &Job{Name: u.JobID(), Cron: d.Cron.Value, Words: cronwords.Of(d.Cron.Value), Options: d.List(true)}
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

// defaultsAt is where the defaults of a function stand, "" if its package has none.
func (g *generator) defaultsAt(u *bound.Func) string {
	d := u.Directive.Defaults
	if d == nil {
		return ""
	}
	at := g.Files.Fset.PositionFor(d.Pos(), false)
	return fmt.Sprintf("%s:%d", files.Relative(g.cfg.Dir, at.Filename), at.Line)
}
