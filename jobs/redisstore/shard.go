package redisstore

import (
	"strconv"
	"strings"

	"github.com/lockgen/lockgen/internal/redistag"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/internal/spread"
)

const (
	// shards is how many groups the jobs are spread over. The keys of one group are in one slot, so that a script can
	// work on many jobs, and the groups spread over the servers of a Redis Cluster. All nodes must agree on it.
	shards = 16
	// oneOffShard is a further one, for all one-off jobs: their IDs are to be unique among all of them.
	oneOffShard = shards
	allShards   = shards + 1
)

// shard has the keys of one group of jobs; see lua/lib.lua for what they hold.
type shard struct {
	cursors, seen, paused, missed, owed, specs, epochs, madeUp, flight, owner, begun, alive, notices, oneOffs, due, past,
	stamp, failures string

	// What lists and counts are made from.
	names, texts, latest, failing, pausing, missing, never, totals string

	base string
}

// newShard builds the keys. Their hash tag, in braces, is the same for all, and neither empty nor another namespace's:
//
//	lock:jobs:{lock:7}:cursors  lock:jobs:{lock:7}:runs:nightly
func newShard(namespace string, n int) *shard {
	ns := encode(namespace)
	base := ns + ":jobs:{" + ns + ":" + strconv.Itoa(n) + "}:"
	return &shard{
		cursors: base + "cursors", seen: base + "seen", paused: base + "paused", missed: base + "missed",
		owed:  base + "owed",
		specs: base + "specs", epochs: base + "epochs", madeUp: base + "madeup",
		flight: base + "flight", owner: base + "owner", begun: base + "begun", alive: base + "alive",
		notices: base + "notices", oneOffs: base + "oneoffs", due: base + "due", past: base + "past", stamp: base + "stamp",
		failures: base + "failures", base: base,
		names: base + "names", texts: base + "texts", latest: base + "latest", failing: base + "failing",
		pausing: base + "pausing", missing: base + "missing", never: base + "never", totals: base + "totals",
	}
}

// runs is the list of a job's records. Names are encoded only so that no two share a key with anything else.
func (s *shard) runs(job string) string { return s.base + "runs:" + job }

// all are the keys that every shard has.
func (s *shard) all() []string {
	return []string{
		s.flight, s.owner, s.begun, s.alive, s.notices, s.oneOffs, s.due, s.past, s.stamp, s.cursors, s.seen, s.paused,
		s.missed, s.owed, s.specs, s.epochs, s.madeUp, s.failures,
		s.names, s.texts, s.latest, s.failing, s.pausing, s.missing, s.never, s.totals,
	}
}

func encode(s string) string {
	if s == "" {
		return "%" // no encoded text is a lone %
	}
	return strings.ReplaceAll(redistag.Encode(s), ":", "%3A")
}

// shardOf returns the number of a job's shard.
func shardOf(job string) int {
	if strings.HasPrefix(job, jobs.HandlerPrefix) {
		return oneOffShard
	}
	return int(spread.Hash(job) % shards)
}

// byShard sorts the indices of n elements by the shards of their jobs, in order, into groups of up to scriptSize.
func byShard(n int, job func(i int) string) (groups []shardGroup) {
	var indices [allShards][]int
	for i := range n {
		at := shardOf(job(i))
		indices[at] = append(indices[at], i)
	}
	for at, list := range indices {
		for len(list) > 0 {
			cut := min(len(list), scriptSize)
			groups = append(groups, shardGroup{shard: at, indices: list[:cut]})
			list = list[cut:]
		}
	}
	return groups
}

// shardGroup is what one call of a script is about.
type shardGroup struct {
	shard   int
	indices []int
}

// scriptSize is how many elements one script works on: enough that the call does not count, few enough that other
// clients of the server get their turn within a millisecond or two.
const scriptSize = 256
