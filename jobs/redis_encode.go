package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// keys returns the job's keys. The job's name stands in braces, so that Redis Cluster puts both into one slot, and is
// encoded so that it can neither end the braces early, nor be empty, nor be mistaken for another's:
//
//	lock:jobs:{nightly}  lock:jobs:{nightly}:runs
func (s *redisStore) keys(job string) []string {
	k := s.prefix + encode(job) + "}"
	return []string{k, k + ":runs"}
}

var encoder = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D", ":", "%3A")

func encode(s string) string {
	if s == "" {
		return "%" // no encoded text is a lone %, and an empty {} would be no hash tag
	}
	return encoder.Replace(s)
}

// readJob reads the answer of look.lua. Fields that it does not know belong to a later version and are left alone.
func readJob(reply []any) (v JobView, now time.Time, err error) {
	malformed := errors.New("the script's answer is malformed; does another program write to its keys?")
	if len(reply) != 2 {
		return v, now, malformed
	}
	t, isInt := reply[0].(int64)
	pairs, isList := reply[1].([]any)
	if !isInt || !isList {
		return v, now, malformed
	}
	fields := make(map[string]string)
	for i := 0; i+1 < len(pairs); i += 2 {
		fields[fmt.Sprint(pairs[i])] = fmt.Sprint(pairs[i+1])
	}
	mark, err := strconv.ParseInt(fields["mark"], 10, 64)
	if err != nil {
		return v, now, malformed
	}
	v.Mark, now = micro(mark), micro(t)
	for field, text := range fields {
		id, ok := strings.CutPrefix(field, "u:")
		if !ok {
			continue
		}
		var p Pending
		until, err := strconv.ParseInt(text, 10, 64)
		if err = errors.Join(err, json.Unmarshal([]byte(fields["p:"+id]), &p)); err != nil {
			return v, now, fmt.Errorf("%w (run %s: %w)", malformed, id, err)
		}
		p.Left = micro(until).Sub(now)
		v.Claims = append(v.Claims, p)
	}
	return v, now, nil
}

func micro(n int64) time.Time { return time.UnixMicro(n).UTC() }

// encodeJSON encodes a record. It cannot fail: runs are made of strings, numbers and times.
func encodeJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
