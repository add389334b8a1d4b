package zkstore

import (
	"encoding/json"
	"strings"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// entry is the data of a contender, and of a node that keeps a lock.
type entry struct {
	Node   string `json:"node,omitempty"`
	TTL    int64  `json:"ttl"`              // µs
	At     int64  `json:"at"`               // µs since 1970, on the clock of its process
	Kept   bool   `json:"kept,omitempty"`   // by MinHold, without a holder
	Epoch  uint64 `json:"epoch,omitempty"`  // of the lease that was kept
	Broken string `json:"broken,omitempty"` // that its session is to end it, and why
}

// told is one thing that a session is told, in the data of its node: a lease of it was broken.
type told struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// toldOf reads the data of a session's node. Somebody else's text tells nothing.
func toldOf(data []byte) []told {
	var all []told
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	return all
}

func jsonOf(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil { // it has numbers and text only
		panic(err)
	}
	return text
}

// entryOf reads the data of a node. Somebody else's text is an entry of nobody.
func entryOf(data []byte) entry {
	var e entry
	if json.Unmarshal(data, &e) != nil {
		return entry{}
	}
	return e
}

func (e entry) ttl() time.Duration { return time.Duration(e.TTL) * time.Microsecond }

// busy names the holder. When its lease was renewed last is not in ZooKeeper.
func (e entry) busy(key string) *lockrt.BusyError {
	return &lockrt.BusyError{Key: key, Holder: e.Node, Remaining: max(e.ttl(), time.Millisecond)}
}

// shown makes a text one that JSON takes as it is, and not longer than ZooKeeper should keep.
func shown(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "�")
}
