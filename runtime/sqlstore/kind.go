package sqlstore

import (
	"strconv"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// kind is how a lease holds its lock: alone, as one of many readers, or as one of so many permits.
type kind struct {
	read    bool
	permits int
}

func kindOf(mode lockrt.Mode, permits int) kind { return kind{mode == lockrt.Read, permits} }

func (k kind) exclusive() bool { return !k.read && k.permits == 0 }

func (k kind) mode() lockrt.Mode {
	if k.read {
		return lockrt.Read
	}
	return lockrt.Write
}

// text is a kind as it stands in the table: a word for one that shares, nothing for one that does not.
func (k kind) text() string {
	switch {
	case k.read:
		return "r"
	case k.permits > 0:
		return "p" + strconv.Itoa(k.permits)
	}
	return ""
}

func parseKind(text string) (k kind, ok bool) {
	if text == "r" {
		return kind{read: true}, true
	}
	if len(text) < 2 || text[0] != 'p' {
		return kind{}, false
	}
	n, err := strconv.Atoi(text[1:])
	return kind{permits: n}, err == nil && n > 0
}
