package etcdstore

import (
	"encoding/json"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	etcd "go.etcd.io/etcd/client/v3"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// entry is the value of a contender.
type entry struct {
	ID      string `json:"id"` // of the lease
	Node    string `json:"node,omitempty"`
	Session string `json:"session,omitempty"`
	TTL     int64  `json:"ttl"`              // µs
	At      int64  `json:"at"`               // µs since 1970, on the clock of its process
	Kept    bool   `json:"kept,omitempty"`   // by MinHold, without a holder
	Broken  string `json:"broken,omitempty"` // that its session is to end it, and why

	Read    bool `json:"read,omitempty"`    // it is a reader's
	Permits int  `json:"permits,omitempty"` // how many may hold the lock with it; 0 without permits

	// What follows is for readers and permits. It is written when they are let in.
	In    bool  `json:"in,omitempty"`    // it holds the lock
	Slot  int   `json:"slot,omitempty"`  // of a permit
	Epoch int64 `json:"epoch,omitempty"` // that all readers share who hold the lock together; 0: its own
}

// shared reports whether others may hold the lock beside it.
func (e entry) shared() bool { return e.Read || e.Permits > 0 }

// besides reports whether both may hold the lock at a time, as far as that depends on their kinds.
func (e entry) besides(other entry) bool {
	return e.shared() && e.Read == other.Read && (e.Permits > 0) == (other.Permits > 0)
}

// epoch is that of its grant, without the base. rev is the revision at which the contender was made.
func (e entry) epoch(rev int64) int64 {
	if e.Epoch != 0 {
		return e.Epoch
	}
	return 2 * rev // the odd numbers in between are for writers that become readers
}

func (e entry) mode() lockrt.Mode {
	if e.Read {
		return lockrt.Read
	}
	return lockrt.Write
}

// maxEntry is more than the text of an entry takes that is not broken.
const maxEntry = 2 << 10

func (e entry) text() string {
	text, err := json.Marshal(&e)
	if err != nil { // it has numbers and text only
		panic(err)
	}
	return string(text)
}

// foreign reports whether no lock store has written it: contenders have the ID of a lease, or are kept.
func (e entry) foreign() bool { return e.ID == "" && !e.Kept }

// errForeign is the error of a request that would wait for somebody else's key. Nobody knows when that goes.
func errForeign(kv *mvccpb.KeyValue) error {
	return refusal("the key %.300q, which no lock store has written, stands in the queue of the lock as if it held it; "+
		"delete it, and let nobody else write below the prefix of the locks", kv.Key)
}

// entryOf reads the value of a contender. Somebody else's text is an entry of nobody.
func entryOf(kv *mvccpb.KeyValue) entry {
	var e entry
	if json.Unmarshal(kv.Value, &e) != nil {
		return entry{}
	}
	return e
}

// remaining is what is left of a lease at the most. When it was renewed last is not in etcd.
func (e entry) remaining() time.Duration {
	left := time.Duration(e.TTL) * time.Microsecond
	if e.Kept {
		left = min(left, time.Until(time.UnixMicro(e.At).Add(left)))
	}
	return max(left, time.Millisecond)
}

// until is how long a lock is taken by two that hold it, of permits until one may have its slot.
func (e entry) until(one, other time.Duration) time.Duration {
	if e.Permits > 0 {
		return min(one, other)
	}
	return max(one, other)
}

func (e entry) ttl() time.Duration { return time.Duration(e.TTL) * time.Microsecond }

// oldest reads the first n contenders below the name of a lock: the first of them holds it.
func oldest(n int, more ...etcd.OpOption) []etcd.OpOption {
	return append(more, etcd.WithPrefix(), etcd.WithSort(etcd.SortByCreateRevision, etcd.SortAscend),
		etcd.WithLimit(int64(n)))
}

var first = oldest(1)

// latest reads the contender that came last.
func latest(more ...etcd.OpOption) []etcd.OpOption {
	return append(more, etcd.WithPrefix(), etcd.WithSort(etcd.SortByCreateRevision, etcd.SortDescend), etcd.WithLimit(1))
}

// shown makes a text one that JSON takes as it is, and not longer than etcd should keep.
func shown(s string, most int) string {
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "�")
}
