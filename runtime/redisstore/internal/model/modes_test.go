package model

import (
	"fmt"
	"os"
	"testing"
)

// mixes are what three leases, each with a process of its own, can ask for together, up to their names.
func mixes() [][MaxLeases]int8 {
	kinds := []int8{Writer, Reader, 2}
	var all [][MaxLeases]int8
	for i := range kinds {
		for j := i; j < len(kinds); j++ {
			for k := j; k < len(kinds); k++ {
				if k > 0 { // all writers is what the other tests are about
					all = append(all, [MaxLeases]int8{kinds[i], kinds[j], kinds[k]})
				}
			}
		}
	}
	return all
}

// mixedBounds are those of every run. faults is for the mixes, states what ends each of them early.
func mixedBounds(faults, states int) map[string]Bounds {
	bounds := map[string]Bounds{}
	for _, kinds := range mixes() {
		bounds[fmt.Sprint("mix ", kinds[:3])] = Bounds{Leases: 3, Faults: faults, Proc: apart, Kind: kinds, States: states}
	}
	return bounds
}

var (
	readersAroundWriter = [MaxLeases]int8{Reader, Reader, Writer, Reader}
	permitsAndWriter    = [MaxLeases]int8{2, 2, 2, Writer}
	smallerLimit        = [MaxLeases]int8{3, 3, 3, 1}
	oneOld              = [MaxProcs]bool{true}
)

func TestProtocol_Explore_mixes(t *testing.T) {
	bounds := mixedBounds(1, 60_000)
	bounds["readers around a writer"] = Bounds{Leases: 4, Proc: apart, Kind: readersAroundWriter, States: 100_000}
	bounds["permits and a writer"] = Bounds{Leases: 4, Proc: apart, Kind: permitsAndWriter, States: 100_000}
	bounds["permits and a smaller limit"] = Bounds{Leases: 4, Proc: apart, Kind: smallerLimit, States: 100_000}
	bounds["downgrades"] = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Writer, Writer, Reader}, Downgrades: true, States: 100_000}
	bounds["an old node beside readers"] = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Writer, Reader, Reader}, Old: oneOld, States: 100_000}
	bounds["an old node beside permits"] = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Writer, 2, 2}, Old: oneOld, States: 100_000}
	bounds["short leases"] = Bounds{Leases: 3, Faults: 1, Proc: apart, TTL: short, Liveness: 2, Kind: [MaxLeases]int8{Writer, Reader, Reader}, States: 100_000}
	bounds["two of a process"] = Bounds{Leases: 3, Faults: 1, Proc: [MaxLeases]int8{0, 1, 0}, Kind: [MaxLeases]int8{Reader, Writer, Reader}, States: 100_000}
	explore(t, bounds)
}

func TestProtocol_Explore_mixesWide(t *testing.T) {
	if os.Getenv("LOCKGEN_SOAK") == "" {
		t.Skip("takes minutes and gigabytes; set LOCKGEN_SOAK=1 to run it")
	}
	bounds := mixedBounds(1, 0)
	bounds["readers around a writer"] = Bounds{Leases: 4, Proc: apart, Kind: readersAroundWriter}
	bounds["permits and a writer"] = Bounds{Leases: 4, Proc: apart, Kind: permitsAndWriter}
	bounds["permits and a smaller limit"] = Bounds{Leases: 4, Proc: apart, Kind: smallerLimit}
	bounds["downgrades"] = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Writer, Writer, Reader}, Downgrades: true}
	bounds["an old node beside readers"] = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Writer, Reader, Reader}, Old: oneOld}
	bounds["an old node beside permits"] = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Writer, 2, 2}, Old: oneOld}
	bounds["readers around a writer, 1 fault"] = Bounds{Leases: 4, Faults: 1, Proc: apart, Kind: readersAroundWriter, States: 10_000_000}
	bounds["permits and a writer, 1 fault"] = Bounds{Leases: 4, Faults: 1, Proc: apart, Kind: permitsAndWriter, States: 10_000_000}
	bounds["two faults"] = Bounds{Leases: 3, Faults: 2, Proc: apart, Kind: [MaxLeases]int8{Writer, Reader, Reader}, States: 10_000_000}
	explore(t, bounds)
}

// What others who share locks have had wrong, or nodes of two versions could have.
var sharedFaults = []fault{
	{"readers overtake the queue", "overtook those who wait", readersFirst},
	{"cancel does not admit", "fits and waits", writerBetween},
	{"dead writer at the head blocks", "behind somebody who has died", writerBetween},
	{"old cancels keep readers waiting", "behind somebody who has died", oldBetween},
	{"the lock ends with whoever changed last", "the lock ends before", shortReader},
	{"expired share is renewed", "the server still knows it", Bounds{Leases: 2, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Reader, Reader}}},
	{"double release frees another slot", "permit", Bounds{Leases: 3, Faults: 2, Proc: apart, Kind: [MaxLeases]int8{2, 2, 2}, States: 300_000}},
	{"every reader has an epoch of its own", "beside others", writerBetween},
	{"modes are not compared", "hold the lock", writerBetween},
	{"slots are not looked at", "have slot", Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{2, 2, 2}}},
	{"holders of before count", "beside others", Bounds{Leases: 2, Faults: 2, Proc: apart, Kind: [MaxLeases]int8{Reader, Reader}, Old: [MaxProcs]bool{false, false, true}}},
	{"downgrade lets a writer in", "the server", downgrading},
	{"downgrade cannot be repeated", "still knows it", downgrading},
	{"renewal does not follow the downgrade", "still knows it", downgrading},
	{"broken lease is renewed", "longer than when it was broken", writerBetween},
	{"broken lease is granted again by a poke", "will not hear of it", writerBetween},
	{"late acquire acts", "the server still knows it", writerBetween},
	{"owners are not told by showing life", "longer than one lease", readersFirst},
}

var (
	writerBetween = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Reader, Writer, Reader}, States: 300_000}
	readersFirst  = writerBetween
	shortReader   = Bounds{Leases: 3, Faults: 1, Proc: apart, TTL: hasty, Kind: [MaxLeases]int8{Reader, Reader, Writer}, States: 300_000}
	downgrading   = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Writer, Writer, Reader}, Downgrades: true, States: 300_000}
	oldBetween    = Bounds{Leases: 3, Faults: 1, Proc: apart, Kind: [MaxLeases]int8{Writer, Reader, Reader}, Old: oneOld, States: 300_000}
)
