package model

import (
	"os"
	"strings"
	"testing"
)

// bounds are those of every run, by name.
var bounds = map[string]Bounds{
	"3 clients, 1 fault":               {Leases: 3, Faults: 1, Proc: apart},
	"2 clients, 2 faults":              {Leases: 2, Faults: 2, Proc: apart},
	"4 leases, 2 of them of a client":  {Leases: 4, Faults: 0, Proc: [MaxLeases]int8{0, 1, 2, 0}, States: 200_000},
	"3 leases of 2 clients, 1 fault":   {Leases: 3, Faults: 1, Proc: [MaxLeases]int8{0, 1, 0}, States: 150_000},
	"3 clients, 1 of them in a hurry":  {Leases: 3, Faults: 1, Proc: apart, TTL: hasty, States: 150_000},
	"3 clients, 2 faults, the nearest": {Leases: 3, Faults: 2, Proc: apart, States: 400_000},
}

// soakBounds take minutes and gigabytes: LOCKGEN_SOAK=1.
var soakBounds = map[string]Bounds{
	"3 clients, 2 faults":             {Leases: 3, Faults: 2, Proc: apart, States: 40_000_000},
	"3 clients, 1 of them in a hurry": {Leases: 3, Faults: 1, Proc: apart, TTL: hasty},
	"2 clients, 3 faults":             {Leases: 2, Faults: 3, Proc: apart},
	"4 leases, 2 of them of a client": {Leases: 4, Faults: 1, Proc: [MaxLeases]int8{0, 1, 2, 0}, States: 20_000_000},
	"3 leases of 2 clients, 1 fault":  {Leases: 3, Faults: 1, Proc: [MaxLeases]int8{0, 1, 0}},
}

var (
	// apart gives every lease a process of its own.
	apart = [MaxLeases]int8{0, 1, 2, 3}
	// hasty makes one lease shorter than the others.
	hasty = [MaxLeases]int8{1, TTL, TTL, TTL}
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
			t.Logf("%d states, %d steps, up to %d events deep, all within the bounds: %v", result.States, result.Steps, result.Depth, result.Complete)
			if !result.Complete && b.States == 0 {
				t.Error("the exploration ended early")
			}
		})
	}
	t.Logf("%d states explored", total)
}

// An exploration that finds nothing proves something only if it would have found what is wrong. Each of these faults
// is one that a lock has had in practice.
func TestProtocol_Explore_findsFaults(t *testing.T) {
	for fault, want := range map[string]string{
		// of the scripts
		"release without owner":             "the server says",
		"hand on to the dead":               "longer than one lease",
		"granted waiter stays in the queue": "the queue holds the granted lease",
		"barging":                           "the queue holds the granted lease",
		"cancel stays in the queue":         "the server still knows it",
		"cancel leaves the grant":           "the server still knows it",
		"renewal revives":                   "the queue holds the granted lease",
		"queue without expiry":              "a key without an expiry",
		"floor goes with the lock":          "was given after",
		"poke does not hand on":             "longer than one lease",
		"break takes the epoch back":        "was given after",
		// of the client
		"the living are not told":              "longer than one lease",
		"poke does not queue":                  "told to wait and is not in the queue",
		"lease counts from the reply":          "the server says",
		"push counts from its arrival":         "the server says",
		"renewal counts from the reply":        "the server says",
		"uses a grant that is over":            "others one between",
		"acquire without a reply is forgotten": "the server still knows it",
		"late acquire is forgotten":            "the server still knows it",
	} {
		t.Run(strings.ReplaceAll(fault, " ", "_"), func(t *testing.T) {
			p := &Protocol{Fault: fault}
			result, violation := p.Explore(Bounds{Leases: 3, Faults: 1, Proc: apart, States: 300_000})
			if violation == nil {
				t.Fatalf("%d states explored, and the fault was not found", result.States)
			}
			if !strings.Contains(violation.What.Error(), want) {
				t.Errorf("found another fault than %q: %v", want, violation)
			}
			t.Log(violation)
		})
	}
}
