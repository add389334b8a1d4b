package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lockgen/lockgen/cmd/internal/files"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/clash"
	"github.com/lockgen/lockgen/cmd/lockgen/internal/gen"
)

func (c *command) setFrom(text string) error {
	c.from = time.Now()
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("-from %q is no time: write it as 2026-01-31T12:00:00Z", text)
	}
	c.from = at
	return nil
}

// printList is what lockgen list does.
func (c *command) printList(ctx context.Context, cfg gen.Config) (int, error) {
	list, problems, err := gen.List(ctx, cfg, c.from)
	switch {
	case err != nil:
		return exitFailed, err
	case len(problems) > 0:
		return exitFailed, c.refuse(problems)
	case c.json:
		e := json.NewEncoder(c.stdout)
		e.SetIndent("", "\t")
		e.SetEscapeHTML(false)
		return exitOK, e.Encode(list)
	}
	var b strings.Builder
	locksTable(&b, list.Functions)
	jobsTable(&b, list.Functions)
	collisionsTable(&b, list.Collisions)
	if b.Len() == 0 {
		b.WriteString("no //lock: directives\n")
	}
	_, err = c.stdout.Write([]byte(b.String()))
	return exitOK, err
}

// table writes rows under a heading, in columns.
func table(b *strings.Builder, rows [][]string) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(rows[0]))
		for i, cell := range row {
			cells[i] = files.Line(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush() // a Builder takes everything
	for line := range strings.Lines(text.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

func locksTable(b *strings.Builder, functions []gen.Function) {
	rows := [][]string{{"FUNCTION", "POSITION", "KEY", "TTL", "WAIT", "MODE", "WRAPPER", "LOCKER"}}
	for _, f := range functions {
		for i, key := range f.Keys {
			if i > 0 { // further keys of the function
				rows = append(rows, []string{"", "", key.Typed(), "", "", key.Held()})
				continue
			}
			rows = append(rows, []string{path.Base(f.Package) + "." + f.Function,
				fmt.Sprintf("%s:%d", files.Name(f.File), f.Line), key.Typed(), f.Options.Text("ttl"),
				f.Options.Text("wait"), key.Held(), f.Wrapper, f.Locker})
		}
	}
	if len(rows) > 1 {
		table(b, rows)
	}
}

const tickForm = "Mon 2006-01-02 15:04:05 MST"

func jobsTable(b *strings.Builder, functions []gen.Function) {
	rows := [][]string{{"JOB", "CRON", "IN WORDS", "ZONE", "NEXT"}}
	for _, f := range functions {
		j := f.Job
		if j == nil {
			continue
		}
		zone := j.Zone
		if zone == "" {
			zone = "of the process"
		}
		for i, at := range j.Next {
			row := []string{j.Name, j.Cron, j.Words, zone, at.Format(tickForm)}
			if i > 0 {
				row = []string{"", "", "", "", at.Format(tickForm)}
			}
			rows = append(rows, row)
		}
	}
	if len(rows) > 1 {
		b.WriteString("\n")
		table(b, rows)
	}
}

func collisionsTable(b *strings.Builder, collisions []clash.Collision) {
	rows := [][]string{{"CAN BE THE SAME", "FUNCTION", "POSITION"}}
	for _, c := range collisions {
		for _, ref := range []clash.KeyRef{c.First, c.Second} {
			rows = append(rows, []string{ref.Key, path.Base(ref.Package) + "." + ref.Function,
				fmt.Sprintf("%s:%d", files.Name(ref.File), ref.Line)})
		}
		rows = append(rows, []string{fmt.Sprintf("  such as %q", c.Example)})
	}
	if len(rows) > 1 {
		b.WriteString("\n")
		table(b, rows)
	}
}
