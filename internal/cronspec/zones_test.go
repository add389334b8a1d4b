package cronspec_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/cronspec"
)

// zoneSpecs have fixed, ranged and wildcard hours, dates and weekdays.
var zoneSpecs = []string{
	"30 2 * * *", "0 0 * * *", "59 23 * * *", "*/20 0-4 * * *", "0 1,3 * * 0,5", "15 */3 1,15 * *",
	"30 * * * *", "*/30 * * * *",
}

// TestParse_allZones compares Next with the oracle around every change of the clocks of every IANA zone from 2000 to 2037:
// each eighth change in a zone, or all with LOCKGEN_SOAK.
func TestParse_allZones(t *testing.T) {
	every := 8
	if os.Getenv("LOCKGEN_SOAK") != "" {
		every = 1
	}
	var changes atomic.Int64
	t.Run("zones", func(t *testing.T) {
		for _, name := range allZones(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for i, change := range clockChanges(zone(t, name)) {
					if (i+len(name))%every == 0 {
						changes.Add(1)
						judgeChange(t, name, change)
					}
				}
			})
		}
	})
	t.Logf("%d changes of the clocks", changes.Load())
	if changes.Load() < 1000 {
		t.Errorf("only %d changes of the clocks were looked at", changes.Load())
	}
}

// judgeChange compares the days around a change with a walk over their minutes.
func judgeChange(t *testing.T, name string, change time.Time) {
	from, to := change.Add(-36*time.Hour).Truncate(time.Minute), change.Add(36*time.Hour)
	clock := walk(zone(t, name), from, to)
	for _, spec := range zoneSpecs {
		sched, err := cronspec.Parse(spec, name)
		if err != nil {
			t.Fatal(err)
		}
		var got []time.Time
		for next := sched.Next(from.Add(-time.Second)); next.Before(to); next = sched.Next(next) {
			got = append(got, next)
		}
		want := clock.fires(t, spec)
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s in %s around %s fires at %v, the oracle says %v", spec, name, change, got, want)
		}
	}
}

// clockChanges finds the changes of a zone's offset from 2000 to 2037.
func clockChanges(loc *time.Location) (changes []time.Time) {
	end := time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, t := last.In(loc).ZoneBounds(); !t.IsZero() && t.Before(end); _, t = t.ZoneBounds() {
		_, before := t.Add(-time.Second).Zone()
		if _, after := t.Zone(); after != before {
			changes = append(changes, t)
		}
	}
	return changes
}

// allZones returns the names in the zone files that come with Go, without those that are only another name of one.
func allZones(t *testing.T) (names []string) {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skip("no list of zones: ", err)
	}
	defer archive.Close()
	seen := make(map[uint32]bool) // by checksum: other names of a zone have the same file
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") || seen[f.CRC32] {
			continue
		}
		seen[f.CRC32] = true
		names = append(names, f.Name)
	}
	return names
}
