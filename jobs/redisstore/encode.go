package redisstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockgen/lockgen/jobs"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var errMalformed = errors.New("a script's answer is malformed; does another program write to its keys?")

// encodeJSON encodes a record. It cannot fail: all that is encoded here is made of strings, numbers and times.
func encodeJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// encodeRecord encodes a record as the scripts want it: with a + in front if it may join another.
func encodeRecord(r *jobs.Run) string {
	if r.Joins() {
		return "+" + encodeJSON(r)
	}
	return encodeJSON(r)
}

// encodeInFlight encodes a run in flight. Its owner and when it began are kept beside it, because they change.
func encodeInFlight(p *jobs.InFlight) string {
	if !p.Run.Started.IsZero() || p.Run.Fence != 0 {
		plain := *p
		plain.Run.Started, plain.Run.Fence = time.Time{}, 0
		p = &plain
	}
	return encodeJSON(p)
}

// readInFlight puts together what is kept of a run in flight.
func readInFlight(id, owner, begun, text string) (p jobs.InFlight, err error) {
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("%w (run %s: %w)", errMalformed, id, err)
	}
	p.Owner = owner
	if begun == "" {
		return p, nil
	}
	at, fence, _ := strings.Cut(begun, " ")
	p.Run.Started = readMicro(at)
	n, err := strconv.ParseUint(fence, 10, 64)
	if err != nil {
		return p, fmt.Errorf("%w (run %s: %w)", errMalformed, id, err)
	}
	p.Run.Fence = lockrt.Fence(n)
	return p, nil
}

// readAllInFlight reads runs in flight as the scripts list them: ID, owner, begin, JSON.
func readAllInFlight(reply any) (all []jobs.InFlight, err error) {
	texts, err := readTexts(reply)
	if err != nil || len(texts)%4 != 0 {
		return nil, errMalformed
	}
	for i := 0; i < len(texts); i += 4 {
		p, err := readInFlight(texts[i], texts[i+1], texts[i+2], texts[i+3])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// readLook reads the answer of look.lua into the views of a group's jobs.
func readLook(reply []any, g shardGroup, names []string, views []jobs.JobView) (now time.Time, err error) {
	if len(reply) != 3 {
		return now, errMalformed
	}
	states, err := readTexts(reply[1])
	if err != nil || len(states) != 5*len(g.indices) {
		return now, errMalformed
	}
	flights, err := readAllInFlight(reply[2])
	if err != nil {
		return now, err
	}
	at := make(map[string]int, len(g.indices))
	for i, k := range g.indices {
		at[names[k]] = k
		v := &views[k]
		if v.Cursor = readMicro(states[5*i]); states[5*i+1] != "" {
			if v.Paused, err = readPause(states[5*i+1]); err != nil {
				return now, err
			}
		}
		v.Missed, _ = strconv.ParseInt(states[5*i+2], 10, 64) // "" is none
		v.Owed = readOwed(states[5*i+4])
		if v.Spec, err = readSpec(names[k], v.Cursor, states[5*i+3]); err != nil {
			return now, err
		}
	}
	for _, p := range flights {
		k := at[p.Run.Job]
		views[k].InFlight = append(views[k].InFlight, p)
	}
	return readMicro(reply[0]), nil
}

// readOwed reads spans of ticks: from and to with a blank between them, and semicolons between the spans.
func readOwed(v any) (owed []jobs.Span) {
	text, _ := v.(string)
	for _, span := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' }) {
		from, to, _ := strings.Cut(span, " ")
		owed = append(owed, jobs.Span{From: readMicro(from), To: readMicro(to)})
	}
	return owed
}

// writeOwed is the opposite of readOwed.
func writeOwed(owed []jobs.Span) string {
	texts := make([]string, len(owed))
	for i, s := range owed {
		texts[i] = micros(s.From) + " " + micros(s.To)
	}
	return strings.Join(texts, ";")
}

// readPause reads what is kept of the last pause or resume of a job: its version, a blank, and the pause as JSON or a
// dash.
func readPause(text string) (*jobs.Pause, error) {
	version, text, _ := strings.Cut(text, " ")
	if text == "-" {
		return nil, nil
	}
	p := new(jobs.Pause)
	if err := json.Unmarshal([]byte(text), p); err != nil {
		return nil, fmt.Errorf("%w (pause: %w)", errMalformed, err)
	}
	var err error
	if p.Version, err = strconv.ParseInt(version, 10, 64); err != nil {
		return nil, fmt.Errorf("%w (pause: %w)", errMalformed, err)
	}
	return p, nil
}

// readPauseState is readPause for one of which the version is wanted, too.
func readPauseState(job, text string) (state jobs.PauseState, err error) {
	version, _, _ := strings.Cut(text, " ")
	state.Job = job
	state.Version, _ = strconv.ParseInt(version, 10, 64)
	state.Pause, err = readPause(text)
	return state, err
}

// readReply adds the answer of heartbeat.lua of one shard to a reply, and returns the shard's part of the stamp: what
// tells it from one that forgot, the time, and the version of its pauses.
func readReply(reply []any, p *jobs.HeartbeatReply) (stamp string, err error) {
	if len(reply) != 12 {
		return "", errMalformed
	}
	now, _ := reply[0].(string)
	number, _ := reply[11].(string)
	id, _ := reply[5].(string)
	version, _ := reply[7].(string)
	if reply[6] == "1" {
		p.Lost = true
	}
	pauses, err := readTexts(reply[8])
	if err != nil || len(pauses)%2 != 0 {
		return "", errMalformed
	}
	peers, err := readTexts(reply[9])
	if err != nil {
		return "", err
	}
	p.Peers = append(p.Peers, peers...)
	over, err := readTexts(reply[10])
	if err != nil {
		return "", err
	}
	p.Over = append(p.Over, over...)
	for i := 0; i < len(pauses); i += 2 {
		state, err := readPauseState(pauses[i], pauses[i+1])
		if err != nil {
			return "", err
		}
		p.Pauses = append(p.Pauses, state)
	}
	return id + " " + now + " " + number + " " + version, readTold(reply, p)
}

// readTold reads what a shard has to tell besides.
func readTold(reply []any, p *jobs.HeartbeatReply) error {
	held, _ := reply[1].(int64)
	orphans, err := readAllInFlight(reply[2])
	if err != nil {
		return err
	}
	notices, err := readTexts(reply[3])
	if err != nil {
		return err
	}
	for _, text := range notices {
		var n jobs.Notice
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			return fmt.Errorf("%w (notice: %w)", errMalformed, err)
		}
		p.Notices = append(p.Notices, n)
	}
	values, _ := reply[4].([]any)
	due, err := readOneOffs(values)
	if err != nil {
		return err
	}
	p.Now, p.Held = readMicro(reply[0]), p.Held+int(held)
	p.Orphans, p.Due = append(p.Orphans, orphans...), append(p.Due, due...)
	return nil
}

// readOneOffs reads one-off jobs; those that are gone since they were listed are left out.
func readOneOffs(values []any) (all []jobs.OneOff, err error) {
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			continue
		}
		var o jobs.OneOff
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return nil, fmt.Errorf("%w (one-off job: %w)", errMalformed, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// readStamped reads JSON that has a time in front of it.
func readStamped(text string, v any) (time.Time, error) {
	at, text, _ := strings.Cut(text, " ")
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return time.Time{}, fmt.Errorf("%w (%w)", errMalformed, err)
	}
	return readMicro(at), nil
}

func readTexts(reply any) ([]string, error) {
	values, ok := reply.([]any)
	if !ok {
		return nil, errMalformed
	}
	texts := make([]string, len(values))
	for i, v := range values {
		if texts[i], ok = v.(string); !ok {
			return nil, errMalformed
		}
	}
	return texts, nil
}

// micros writes a time in µs since the epoch, as all scripts have it.
func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// readMicro reads such a time; the zero time if there is none.
func readMicro(v any) time.Time {
	text, _ := v.(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
