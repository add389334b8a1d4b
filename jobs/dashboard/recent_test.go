package dashboard

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
)

// Records are complete from where those of the busiest job begin, however far back those of others go: charts that began
// earlier would show that a job which always failed has begun to fail.
func TestOverview_chartsBeginWhereRecordsAreComplete(t *testing.T) {
	for _, of := range []struct{ history, nodes, kept int }{{0, 0, 100}, {50, 0, 50}, {1000, 40, 40}} {
		history, kept := of.history, of.kept
		f := &fake{history: history, nodes: []jobs.Node{{Name: "a", History: of.nodes}}}
		for name, every := range map[string]time.Duration{"sec": time.Second, "rare": 30 * time.Second} {
			for i := range kept {
				ended := noon.Add(-time.Duration(i) * every)
				f.runs = append(f.runs, jobs.Run{ID: fmt.Sprint(name, "@", i), Job: name, Tick: ended, Started: ended,
					Ended: ended, Outcome: jobs.OutcomeError, Attempt: 1})
				if name == "rare" && i == 20 {
					break // it is new
				}
			}
			f.statuses = append(f.statuses, jobs.Status{Info: jobs.Info{Job: jobs.Job{Name: name}, Zone: time.UTC},
				Last: &jobs.Run{Job: name, Ended: noon}})
		}
		d := newDashboard(f, f, Config{})
		rec, err := d.fetchRecent(context.Background())
		if want := noon.Add(-time.Duration(kept-1) * time.Second); err != nil || !rec.From.Equal(want) {
			t.Errorf("history %d: complete from %s, %v, want %s", history, rec.From, err, want)
		}
		body := get(f.serve(Config{}), "").Body.String()
		if want := "Since " + noon.Add(-time.Duration(kept-1)*time.Second).Format("15:04:05"); !strings.Contains(body, want) {
			t.Errorf("history %d: the charts do not begin %q", history, want)
		}
	}
}
