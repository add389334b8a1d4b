package model

import (
	"os"
	"strings"
	"testing"
)

// bounds are those of every run, by name.
var bounds = map[string]Bounds{
	"1 client, 4 faults":               {Leases: 1, Faults: 4, Proc: apart},
	"3 clients, 1 fault":               {Leases: 3, Faults: 1, Proc: apart},
	"2 clients, 2 faults":              {Leases: 2, Faults: 2, Proc: apart},
	"2 clients that have just begun":   {Leases: 2, Faults: 1, Proc: apart, Unsubscribed: true},
	"4 leases, 2 of them of a client":  {Leases: 4, Faults: 0, Proc: [MaxLeases]int8{0, 1, 2, 0}},
	"3 leases of 2 clients, 1 fault":   {Leases: 3, Faults: 1, Proc: [MaxLeases]int8{0, 1, 0}, States: 150_000},
	"3 clients, 1 of them in a hurry":  {Leases: 3, Faults: 1, Proc: apart, TTL: hasty},
	"3 clients, short leases":          {Leases: 3, Faults: 1, Proc: apart, TTL: short, Liveness: 2},
	"3 clients, 2 faults, the nearest": {Leases: 3, Faults: 2, Proc: apart, States: 400_000},
}

// soakBounds take minutes and gigabytes: LOCKGEN_SOAK=1.
var soakBounds = map[string]Bounds{
	"3 clients, 2 faults":             {Leases: 3, Faults: 2, Proc: apart},
	"3 clients, 1 of them in a hurry": {Leases: 3, Faults: 2, Proc: apart, TTL: hasty},
	"3 clients, short leases":         {Leases: 3, Faults: 2, Proc: apart, TTL: short, Liveness: 2},
	"2 clients, 3 faults":             {Leases: 2, Faults: 3, Proc: apart},
	"4 clients, 1 fault":              {Leases: 4, Faults: 1, Proc: apart},
	"4 leases, 2 of them of a client": {Leases: 4, Faults: 1, Proc: [MaxLeases]int8{0, 1, 2, 0}, States: 20_000_000},
	"3 leases of 2 clients, 1 fault":  {Leases: 3, Faults: 1, Proc: [MaxLeases]int8{0, 1, 0}},
}

var (
	// apart gives every lease a process of its own.
	apart = [MaxLeases]int8{0, 1, 2, 3}
	// hasty makes one lease shorter than the others.
	hasty = [MaxLeases]int8{1, TTL, TTL, TTL}
	// short makes all leases shorter than the time for which a process counts as live may be.
	short = [MaxLeases]int8{1, 1, 1, 1}
)

func TestProtocol_Explore(t *testing.T) {
	explore(t, bounds)
}

func TestProtocol_Explore_wide(t *testing.T) {
	if os.Getenv("LOCKGEN_SOAK") == "" {
		t.Skip("takes minutes and gigabytes; set LOCKGEN_SOAK=1 to run it")
	}
	explore(t, soakBounds)
}

func explore(t *testing.T, bounds map[string]Bounds) {
	total := 0
	for name, b := range bounds {
		t.Run(name, func(t *testing.T) {
			if raceEnabled {
				b.States = 20_000 // there is one goroutine; the run without the detector sees the rest
			}
			result, violation := new(Protocol).Explore(b)
			if violation != nil {
				t.Fatal(violation)
			}
			total += result.States
			if result.States < 10_000 {
				t.Errorf("only %d states can be reached: the model does not move", result.States)
			}
			t.Logf("%d states, %d steps, up to %d events deep, all within the bounds: %v",
				result.States, result.Steps, result.Depth, result.Complete)
			if !result.Complete && b.States == 0 {
				t.Error("the exploration ended early")
			}
		})
	}
	t.Logf("%d states explored", total)
}

// fault is what the exploration has to find, within bounds.
type fault struct {
	name, found string
	bounds      Bounds
}

// An exploration that finds nothing proves something only if it would have found what is wrong. Each of these faults
// is one that a lock has had in practice.
var faults = []fault{
	// of the scripts
	{"release without owner", "the server says", oneFault},
	{"hand on to the dead", "longer than one lease", oneFault},
	{"granted waiter stays in the queue", "the queue holds the granted lease", oneFault},
	{"barging", "the queue holds the granted lease", oneFault},
	{"cancel stays in the queue", "the server still knows it", oneFault},
	{"cancel leaves the grant", "the server still knows it", oneFault},
	{"renewal revives", "the server still knows it", oneFault},
	{"queue without expiry", "a key without an expiry", oneFault},
	{"floor goes with the lock", "was given after", oneFault},
	{"poke does not hand on", "longer than one lease", oneFault},
	{"late acquire acts", "the server still knows it", oneFault},
	{"break takes the epoch back", "was given after", oneFault},
	{"break names the key only", "that it does not name", oneFault},
	{"break names no epoch", "that it does not name", oneFault},
	{"break hands on at once", "the server says", oneFault},
	{"broken lease is renewed", "longer than when it was broken", oneFault},
	{"broken lease is granted again by a poke", "will not hear of it", oneFault},
	{"dead waiter gets a whole lease", "longer than one lease", oneFault},
	{"owners are not told by showing life", "longer than one lease", oneFault},
	// of the client
	{"the living are not told", "longer than one lease", oneFault},
	{"poke does not queue", "told to wait and is not in the queue", oneFault},
	{"lease counts from the reply", "the server says", oneFault},
	{"push counts from its arrival", "the server says", oneFault},
	{"short grant counts as a whole lease", "the server says", oneFault},
	{"renewal counts from the reply", "the server says", oneFault},
	{"uses a grant that is over", "others one between", oneFault},
	{"grants from before an answer count", "the server still knows it", oneFault},
	{"lease that ran out is not given back", "the server still knows it", oneFault},
	{"acquire without a reply is forgotten", "the server still knows it", oneFault},
	{"retry forgets the first attempt", "the server still knows it", oneFault},
	{"place goes on without its doubts", "the server still knows it", oneFault},
	{"cancel comes before latest and is not repeated", "the server still knows it", oneFault},
	{"acknowledges before it ends", "the server says", oneFault},
	{"broken lease is not acknowledged", "the server still knows it", oneFault},
	{"loss of an unknown grant is forgotten", "will not hear of it", oneFault},
	{"held leases are not checked after a resubscription", "will not hear of it", cutAndBreak},
	{"held leases are not checked after a resubscription", "will not hear of it", justBegun},
	{"answers under way are not checked after a resubscription", "will not hear of it", slowCutAndBreak},
}

var (
	oneFault        = Bounds{Leases: 3, Faults: 1, Proc: apart, States: 300_000}
	cutAndBreak     = Bounds{Leases: 1, Faults: 2, Proc: apart}
	slowCutAndBreak = Bounds{Leases: 1, Faults: 3, Proc: apart}
	justBegun       = Bounds{Leases: 1, Faults: 1, Proc: apart, Unsubscribed: true}
)

func TestProtocol_Explore_findsFaults(t *testing.T) {
	for _, fault := range append(faults, sharedFaults...) {
		t.Run(strings.ReplaceAll(fault.name, " ", "_"), func(t *testing.T) {
			p := &Protocol{Fault: fault.name}
			result, violation := p.Explore(fault.bounds)
			if violation == nil {
				t.Fatalf("%d states explored, and the fault was not found", result.States)
			}
			if !strings.Contains(violation.What.Error(), fault.found) {
				t.Errorf("found another fault than %q: %v", fault.found, violation)
			}
			t.Log(violation)
		})
	}
}
