package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	. "github.com/lockgen/lockgen/jobs"
)

// told is what the store has told a node of the job "j": all ticks up to Cursor are decided, but those in Owed.
type told struct {
	Node   string
	At     time.Time
	Cursor time.Time
	Owed   []Span
}

// decides reports whether a node that was told this knows that a tick was claimed.
func (k *told) decides(tick time.Time) bool {
	return !tick.After(k.Cursor) &&
		!slices.ContainsFunc(k.Owed, func(s Span) bool { return tick.After(s.From) && !tick.After(s.To) })
}

// witnessed is a store that tells a witness what it has told its node, in the list "told".
type witnessed struct {
	Store
	node    string
	witness *redis.Client
}

func (s witnessed) tell(cursor time.Time, owed []Span) {
	text, err := json.Marshal(told{s.node, time.Now(), cursor, owed})
	if err != nil {
		panic(err)
	}
	s.witness.RPush(context.Background(), "told", text)
}

func (s witnessed) Claim(ctx context.Context, claims []Claim) []Claimed {
	results := s.Store.Claim(ctx, claims)
	for _, r := range results {
		if r.Err == nil && r.Status != ClaimStale {
			s.tell(r.Cursor, r.Owed)
		}
	}
	return results
}

func (s witnessed) Register(ctx context.Context, r Registration) (View, error) {
	view, err := s.Store.Register(ctx, r)
	for i, job := range view.Jobs {
		if !r.Offers[i].Cursor.IsZero() { // else the store may have made it up
			s.tell(job.Cursor, job.Owed)
		}
	}
	return view, err
}

// loss is when the store lost its data.
type loss struct {
	what     string
	from, to time.Time
}

// lose has the store lose its data, and notes when.
func (p *processes) lose(what string, do func() error) {
	p.t.Helper()
	from := time.Now()
	if err := do(); err != nil {
		p.t.Fatal(err)
	}
	p.losses = append(p.losses, loss{what, from, time.Now()})
}

// excuse says why a tick may have begun again: between the two begins the store has lost its data, and no node that has
// lived through the loss had been told that the tick was claimed. It is "" if there is no such loss.
func (p *processes) excuse(tick time.Time, first, second begun) string {
	for _, l := range p.losses {
		if l.to.Before(first.at) || l.from.After(second.at) {
			continue
		}
		if len(p.knowing(tick, l)) == 0 {
			return fmt.Sprintf("excused: the store was %s at %s, and no node that lived on had heard of it", l.what, clockTime(l.from))
		}
	}
	return ""
}

// knowing are the nodes that have lived through a loss and had been told before that a tick was claimed.
func (p *processes) knowing(tick time.Time, l loss) (nodes []string) {
	for _, k := range p.told {
		n := p.nodes[k.Node]
		if !k.At.After(l.from) && (n.ended.IsZero() || n.ended.After(l.to)) && k.decides(tick) && !slices.Contains(nodes, k.Node) {
			nodes = append(nodes, k.Node)
		}
	}
	return nodes
}

// judge reports the ticks that have begun more than once: who began them when, and whether a loss of data excuses it.
func (p *processes) judge() {
	p.t.Helper()
	said := p.list("told")
	p.told = make([]told, len(said))
	for i, text := range said {
		if err := json.Unmarshal([]byte(text), &p.told[i]); err != nil {
			p.t.Fatal(err)
		}
	}
	for text, all := range p.begins {
		tick, err := time.Parse(time.RFC3339, text)
		if err != nil {
			p.t.Fatal(err)
		}
		slices.SortFunc(all, func(a, b begun) int { return a.at.Compare(b.at) })
		for i := 1; i < len(all); i++ {
			p.judgeAgain(tick, all[i-1], all[i])
		}
	}
}

// decided says which node was told first that a tick was claimed.
func (p *processes) decided(tick time.Time) string {
	for _, k := range p.told {
		if k.decides(tick) {
			return fmt.Sprintf("%s was told first, at %s, that it was claimed: cursor %s, owed %v", k.Node, clockTime(k.At),
				clockTime(k.Cursor), k.Owed)
		}
	}
	return "no node was told that it was claimed"
}

func (p *processes) judgeAgain(tick time.Time, first, second begun) {
	p.t.Helper()
	what := fmt.Sprintf("tick %s began on %s at %s, and again on %s at %s", clockTime(tick), first.node, clockTime(first.at),
		second.node, clockTime(second.at))
	if why := p.excuse(tick, first, second); why != "" {
		p.t.Log(what + "; " + why)
		return
	}
	var between strings.Builder
	for _, l := range p.losses {
		if !l.to.Before(first.at) && !l.from.After(second.at) {
			fmt.Fprintf(&between, "; the store was %s at %s, when %v knew of it", l.what, clockTime(l.from), p.knowing(tick, l))
		}
	}
	if between.Len() == 0 {
		between.WriteString("; the store has lost nothing between the two")
	}
	p.t.Error(what + between.String())
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.000") }
