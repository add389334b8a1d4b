package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/ledger"
)

var (
	jobColumns = []string{
		"namespace", "name", "known", "tick_cursor", "made_up", "owed", "paused", "switched", "missed", "newest", "oldest",
		"failing", "pausing", "missing", "never", "epoch", "seen", "search", "spec",
	}
	jobTable    = &table{name: "job", key: jobColumns[:2], columns: jobColumns}
	runTable    = newTable("run", 2, "namespace", "id", "job", "owner", "body")
	recordTable = newTable("record", 3, "namespace", "job", "seq", "at", "body")
	// A failure is only ever added and deleted.
	failureTable = newTable("failure", 3, "namespace", "at", "id", "body")
	noticeTable  = newTable("notice", 2, "namespace", "run", "owner", "at", "body")
	oneOffTable  = newTable("oneoff", 2, "namespace", "id", "past", "at", "body")
	nodeTable    = newTable("node", 2, "namespace", "session", "alive", "beat", "body")
)

func newTable(name string, key int, columns ...string) *table {
	return &table{name: name, key: columns[:key], columns: columns}
}

// jobRow is a row of the table of jobs. Two that are equal say the same.
type jobRow struct {
	known                            int64
	cursor, madeUp                   int64
	owed, paused                     string
	switched, missed, newest, oldest int64
	failing, pausing, missing, never int64
	epoch                            string
	seen                             int64
	search, spec                     string
}

// scanJob reads a row with all columns but the namespace's value.
func scanJob(rows *sql.Rows, r *jobRow) (name string, err error) {
	var namespace, key []byte
	err = rows.Scan(&namespace, &key, &r.known, &r.cursor, &r.madeUp, &r.owed, &r.paused, &r.switched, &r.missed, &r.newest,
		&r.oldest, &r.failing, &r.pausing, &r.missing, &r.never, &r.epoch, &r.seen, &r.search, &r.spec)
	return string(key), err
}

func (r *jobRow) values(namespace []byte, name string) []any {
	return []any{
		namespace, []byte(name), r.known, r.cursor, r.madeUp, r.owed, r.paused, r.switched, r.missed, r.newest, r.oldest,
		r.failing, r.pausing, r.missing, r.never, r.epoch, r.seen, []byte(r.search), r.spec,
	}
}

// read makes the state of a job of its row, without its records.
func (r *jobRow) read(name string) (*ledger.Job, error) {
	j := &ledger.Job{
		Cursor: fromMicros(r.cursor), MadeUp: fromMicros(r.madeUp), Switched: r.switched, Missed: r.missed, Kept: r.newest,
		Failing: r.failing != 0, Spec: ledger.Spec{Epoch: r.epoch, Seen: fromMicros(r.seen)},
	}
	var err error
	if j.Owed, err = readOwed(r.owed); err == nil && r.paused != "" {
		j.Paused = new(jobs.Pause)
		err = json.Unmarshal([]byte(r.paused), j.Paused)
	}
	if j.Paused != nil {
		j.Paused.Version = r.switched
	}
	if err == nil && r.spec != "" {
		err = json.Unmarshal([]byte(r.spec), &j.Spec)
	}
	if err != nil {
		return nil, malformed("job "+name, err)
	}
	return j, nil
}

// write makes a row of the state of a job. before is what it was; its definitions stay if spec is not set.
func write(name string, j *ledger.Job, before jobRow, spec bool) jobRow {
	r := before
	r.cursor, r.madeUp, r.owed = micros(j.Cursor), micros(j.MadeUp), writeOwed(j.Owed)
	r.switched, r.missed, r.epoch, r.seen = j.Switched, j.Missed, j.Spec.Epoch, micros(j.Spec.Seen)
	if r.paused = ""; j.Paused != nil {
		r.paused = encode(j.Paused)
	}
	if spec {
		r.known = 0
		if j.Spec.IsKnown() {
			r.known, r.search, r.spec = listedJob, j.Spec.SearchText(), encode(j.Spec)
			if strings.HasPrefix(name, jobs.HandlerPrefix) {
				r.known = listedHandler
			}
		}
	}
	r.newest, r.oldest = j.Kept, max(r.oldest, 1)
	listed := r.known == listedJob
	r.pausing, r.missing = flag(listed && j.Is(jobs.StatePaused)), flag(listed && j.Is(jobs.StateMissed))
	r.never = flag(listed && j.Is(jobs.StateNever))
	if r.failing = flag(j.Failing); j.Failing && !listed {
		r.failing = 2
	}
	return r
}

// The values of the column known.
const (
	listedJob     = 1
	listedHandler = 2
)

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

// span is one of what is owed, µs.
type span [2]int64

func readOwed(text string) (owed []jobs.Span, err error) {
	if text == "" {
		return nil, nil
	}
	var spans []span
	err = json.Unmarshal([]byte(text), &spans)
	for _, s := range spans {
		owed = append(owed, jobs.Span{From: fromMicros(s[0]), To: fromMicros(s[1])})
	}
	return owed, err
}

func writeOwed(owed []jobs.Span) string {
	if len(owed) == 0 {
		return ""
	}
	spans := make([]span, len(owed))
	for i, s := range owed {
		spans[i] = span{micros(s.From), micros(s.To)}
	}
	return encode(spans)
}

// readRun reads a run in flight.
func readRun(id, owner, body string, completed int64) (p jobs.InFlight, err error) {
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		return p, malformed("run "+id, err)
	}
	p.Owner, p.Completed = owner, completed > 0
	return p, nil
}

// read decodes a body of another kind.
func read[T any](what, body string) (v T, err error) {
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return v, malformed(what, err)
	}
	return v, nil
}

func malformed(what string, err error) error {
	return fmt.Errorf("the row of %s is malformed; does another program write to the tables? %w", what, err)
}

// encode cannot fail: all that is encoded here is made of texts, numbers and times.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// micros is a time as the tables have it, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
