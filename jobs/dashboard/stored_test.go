package dashboard

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// odd are the values at the ends of what a record can hold.
var odd = map[reflect.Type][]any{
	reflect.TypeFor[int](): {0, 1, -1, math.MinInt, math.MaxInt}, reflect.TypeFor[int64](): {int64(0), int64(math.MinInt64), int64(math.MaxInt64)},
	reflect.TypeFor[time.Duration](): {time.Duration(0), -time.Second, time.Duration(math.MinInt64), time.Duration(math.MaxInt64)},
	reflect.TypeFor[time.Time]():     {time.Time{}, noon, noon.AddDate(-3000, 0, 0), noon.AddDate(300_000, 0, 0), time.Unix(math.MinInt64, 0), time.Unix(math.MaxInt64, 0)},
	reflect.TypeFor[jobs.Outcome]():  {jobs.Outcome(""), jobs.OutcomeOK, jobs.OutcomeLost, jobs.OutcomeSkipped, jobs.Outcome("\xff")},
	reflect.TypeFor[lockrt.Fence]():  {lockrt.Fence(0), lockrt.Fence(math.MaxUint64)},
	reflect.TypeFor[string]():        {"", "index", "node-2", "\xff", "a\x00\n/b.", "* * * *", "@every -5m", "0 0 31 2 *", strings.Repeat("漢/", 999)},
}

// fill puts odd values into all of a record that a store keeps.
func fill(r *rand.Rand, v reflect.Value) {
	if values := odd[v.Type()]; values != nil {
		v.Set(reflect.ValueOf(values[r.IntN(len(values))]))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(r, v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Pointer:
		if r.IntN(2) > 0 && v.Type() != reflect.TypeFor[*time.Location]() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Bool:
		v.SetBool(r.IntN(2) > 0)
	}
}

func filled[T any](r *rand.Rand) (all []T) {
	for range 1 + r.IntN(4) {
		var one T
		fill(r, reflect.ValueOf(&one).Elem())
		all = append(all, one)
	}
	return all
}

// Nothing that a store can hold keeps a page from being made.
func TestHandler_oddRecords(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		f := &fake{nodes: filled[jobs.Node](r), statuses: filled[jobs.Status](r), runs: filled[jobs.Run](r), failures: filled[jobs.Run](r),
			waiting: filled[jobs.OneOff](r), locks: filled[lockrt.LockInfo](r), history: 1 + r.IntN(3)}
		f.statuses[0].Job.Name, f.runs[0].Job, f.runs[0].ID, f.locks[0].Key = "index", "index", "index@1", "job:index"
		h := f.serve(operator)
		h.(*dashboard).upcoming = jobs.Info.Upcoming
		for _, page := range slices.Concat(allPages, actionPages) {
			if w := get(h, page); w.Code == 500 {
				t.Fatalf("seed %d: %q cannot be made:\n%s", seed, page, w.Body)
			}
		}
	}
}
