package redisstore

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/lockgen/lockgen/runtime/redisstore/internal/model"
)

// Random walks through the states that package model explores are repeated on a real server with the real scripts, one
// script at a time. After each, every answer, every push and all that the server knows must be what the model says.

const (
	replayWalks = 150
	replaySteps = 60
)

func TestScripts_replayTheModel(t *testing.T) {
	t.Parallel()
	seed := replaySeed(t)
	walks := replayWalks
	if os.Getenv("LOCKGEN_SOAK") != "" {
		walks *= 40
	}
	p := newReplay(newRig(t))
	total := 0
	for i := range walks {
		total += p.walk(rand.New(rand.NewPCG(seed, uint64(i))))
	}
	t.Logf("%d walks, %d events, seed %d", walks, total, seed)
	if total < walks*5 {
		t.Errorf("%d events in %d walks: the walks do not go anywhere", total, walks)
	}
}

// replaySeed is new in every run; LOCKGEN_SEED repeats one.
func replaySeed(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("LOCKGEN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKGEN_SEED: %v", err)
		}
	}
	t.Logf("repeat with LOCKGEN_SEED=%d", seed)
	return seed
}

// walk goes a random way and returns how many events it had.
func (p *replay) walk(random *rand.Rand) int {
	protocol := &model.Protocol{
		Proc: [model.MaxLeases]int8{0, 1, 2, int8(random.IntN(3))}, Liveness: int8(1 + random.IntN(2)),
	}
	s := model.Start(6, [model.MaxLeases]int8{model.TTL, model.TTL, int8(1 + random.IntN(model.TTL)), 1})
	if p.kinds != nil {
		s.Kind, s.Old = p.kinds(random)
		protocol.Downgrades = true
	}
	p.begin(protocol, random.IntN(2) == 0)
	for n := range replaySteps {
		var events []model.Event
		protocol.Next(&s, model.MaxLeases, func(e model.Event) { events = append(events, e) })
		e := events[random.IntN(len(events))]
		after, effect := protocol.Step(s, e)
		p.trace = append(p.trace, e.String())
		p.repeat(&after, &effect)
		if s = after; idle(&s) {
			return n + 1
		}
	}
	return replaySteps
}

func idle(s *model.State) bool {
	for _, l := range s.Lease {
		if l.Phase != model.Over {
			return false
		}
	}
	return s.Owner == model.None && s.Queued == 0
}

// tick is one tick of the model: so long that the time that the test takes is nothing beside it.
const tick = 10 * time.Minute
