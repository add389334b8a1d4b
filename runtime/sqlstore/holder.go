package sqlstore

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// sharedOwner owns the row of a lock that several may hold. No escaped lease ID has that character, so that no
// statement for a lease that holds its lock alone finds its owner there.
const sharedOwner = "*"

// maxHolders is how many may hold a lock together. Every change rewrites them.
const maxHolders = 1000

// holder is one of those who share a lock, or a slot that MinHold keeps: then it has no id and no session.
type holder struct {
	id      string // escaped
	until   int64
	kind    kind
	slot    int
	epoch   int64
	since   int64
	session string
	node    string
	broken  string // why an operator ended the lease; empty: nobody did
}

func (h holder) live(now int64) bool { return h.until > now }

const (
	intact, marked = "=", "!" // whether the lease was broken
	// endDigits is how long the end of a lease is as text, so that a statement can put a later one in its place.
	endDigits = 16
)

// line is a holder as it stands in the table. It begins with the line break, the ID and whether it is intact, and then
// comes its end, so that holderMark finds where that begins.
func (h holder) line() string {
	state := intact
	if h.broken != "" {
		state = marked
	}
	return fmt.Sprintf("\n%s %s %0*d %s %d %d %d %s %s %s", h.id, state, endDigits, h.until, h.kind.text(), h.slot, h.epoch,
		h.since, h.session, url.QueryEscape(h.node), url.QueryEscape(h.broken))
}

// holderMark is what comes before the end of a lease that shares its lock and was not broken.
func holderMark(id string) string { return "\n" + id + " " + intact + " " }

func holdersText(holders []holder) string {
	var b strings.Builder
	for _, h := range holders {
		b.WriteString(h.line())
	}
	return b.String()
}

func parseHolders(text string) ([]holder, error) {
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	if lines[0] != "" {
		return nil, foreignLine(lines[0])
	}
	holders := make([]holder, 0, len(lines)-1)
	for _, line := range lines[1:] {
		h, ok := parseHolder(line)
		if !ok {
			return nil, foreignLine(line)
		}
		holders = append(holders, h)
	}
	return holders, nil
}

func parseHolder(line string) (h holder, ok bool) {
	fields := strings.Split(line, " ")
	if len(fields) != 10 {
		return h, false
	}
	h.id, h.session, ok = fields[0], fields[7], true
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		ok = ok && err == nil
		return n
	}
	h.until, h.slot, h.epoch, h.since = number(fields[2]), int(number(fields[4])), number(fields[5]), number(fields[6])
	var err error
	if h.node, err = url.QueryUnescape(fields[8]); err != nil {
		return h, false
	}
	if h.broken, err = url.QueryUnescape(fields[9]); err != nil || (h.broken != "") != (fields[1] == marked) {
		return h, false
	}
	var known bool
	h.kind, known = parseKind(fields[3])
	return h, ok && known
}
