package sqlstore

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// row is one lock as the table has it. Times are µs of the server's clock.
type row struct {
	name, key []byte
	version   int64
	epoch     int64
	turns     int64  // how many grants there were
	owner     string // escaped lease ID; empty: free, or kept by MinHold; sharedOwner: see holders
	session   string
	node      string
	broken    string
	since     int64
	until     int64
	queue     []place
	holders   []holder // of a lock that several may hold, in order of their grants; some may be over

	queueAsRead, holdersAsRead string
}

// held reports whether the lock is taken at a moment, if only by MinHold.
func (r *row) held(now int64) bool { return r.until > now }

// owned reports whether a lease owns the lock at a moment.
func (r *row) owned(id string, now int64) bool { return r.held(now) && r.owner == id && id != "" }

// find returns the index of a lease in the queue, -1 if it is not there.
func (r *row) find(id string) int {
	for i := range r.queue {
		if r.queue[i].id == id {
			return i
		}
	}
	return -1
}

// place is a waiter in the queue.
type place struct {
	id      string // escaped
	ttl     int64  // µs
	live    int64  // its process is known to live until then, whatever the table of sessions says
	session string
	node    string
	kind    kind
}

// line is a place as it stands in the table. It begins with the line break, so that mark finds it wherever it is.
func (p place) line() string {
	line := fmt.Sprintf("\n%s %d %d %s %s", p.id, p.ttl, p.live, p.session, url.QueryEscape(p.node))
	if p.kind.exclusive() {
		return line
	}
	return line + " " + p.kind.text()
}

// mark is what the line of a lease begins with, and no other.
func mark(id string) string { return "\n" + id + " " }

func queueText(queue []place) string {
	var b strings.Builder
	for _, p := range queue {
		b.WriteString(p.line())
	}
	return b.String()
}

func parseQueue(text string) ([]place, error) {
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	if lines[0] != "" {
		return nil, foreignLine(lines[0])
	}
	queue := make([]place, 0, len(lines)-1)
	for _, line := range lines[1:] {
		fields := strings.Split(line, " ")
		p := place{}
		known := len(fields) == 5
		if len(fields) == 6 {
			p.kind, known = parseKind(fields[5])
		}
		if !known {
			return nil, foreignLine(line)
		}
		p.id, p.session = fields[0], fields[3]
		var err error
		if p.ttl, err = strconv.ParseInt(fields[1], 10, 64); err != nil {
			return nil, foreignLine(line)
		}
		if p.live, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
			return nil, foreignLine(line)
		}
		if p.node, err = url.QueryUnescape(fields[4]); err != nil {
			return nil, foreignLine(line)
		}
		queue = append(queue, p)
	}
	return queue, nil
}

var errForeign = errors.New("is another program writing to the lock table?")

func foreignLine(line string) error {
	return fmt.Errorf("a queue holds the line %q; %w", line, errForeign)
}

// escaped makes a lease ID one word of ASCII; plain is its inverse.
func escaped(id string) string { return url.QueryEscape(id) }

func plain(id string) string {
	text, err := url.QueryUnescape(id)
	if err != nil {
		return id
	}
	return text
}

// micros rounds up: a lease is never shorter on the server than its holder believes.
func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

func fromMicros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
