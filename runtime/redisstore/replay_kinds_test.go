package redisstore

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/redisscript"
	"github.com/lockgen/lockgen/runtime/redisstore/internal/model"
)

// oldFiles are the scripts of the version before there were readers and permits.
//
//go:embed testdata/old/*.lua
var oldFiles embed.FS

func oldScripts() scriptSet {
	load := func(name string) *script {
		return redisscript.Compose(name, func(part string) string {
			text, err := oldFiles.ReadFile("testdata/old/" + part + ".lua")
			if err != nil {
				panic(err)
			}
			return string(text)
		})
	}
	return scriptSet{
		acquire: load("acquire"), release: load("release"), retain: load("retain"), cancel: load("cancel"), renew: load("renew"),
		held: load("held"), alive: load("alive"), brk: load("break"),
	}
}

type drawKinds = func(*rand.Rand) (kinds [model.MaxLeases]int8, old [model.MaxProcs]bool)

// anyKinds draws what leases ask for.
func anyKinds(random *rand.Rand) (kinds [model.MaxLeases]int8, old [model.MaxProcs]bool) {
	few := [][]int8{{model.Writer, model.Reader}, {model.Reader}, {model.Writer, 1, 2}, {2, 2, 3}, {model.Writer, model.Reader, 2}}
	from := few[random.IntN(len(few))]
	for i := range kinds {
		kinds[i] = from[random.IntN(len(from))]
	}
	return kinds, old
}

// kindsBesideOld makes the first process one with the scripts of before.
func kindsBesideOld(random *rand.Rand) (kinds [model.MaxLeases]int8, old [model.MaxProcs]bool) {
	kinds, _ = anyKinds(random)
	kinds[0], kinds[3] = model.Writer, model.Writer // the last lease may be of the first process
	old[0] = true
	return kinds, old
}

func TestScripts_replayTheModel_kinds(t *testing.T) {
	t.Parallel()
	replayKinds(t, anyKinds)
}

// Nodes of both versions work on the same locks.
func TestScripts_replayTheModel_besideOldNodes(t *testing.T) {
	t.Parallel()
	replayKinds(t, kindsBesideOld)
}

func replayKinds(t *testing.T, kinds drawKinds) {
	seed, walks := replaySeed(t), 3*replayWalks
	if os.Getenv("LOCKGEN_SOAK") != "" {
		walks *= 40
	}
	p := newReplay(newRig(t))
	p.kinds = kinds
	total := 0
	for i := range walks {
		total += p.walk(rand.New(rand.NewPCG(seed, uint64(i))))
	}
	t.Logf("%d walks, %d events", walks, total)
}

func waiterOf(proc string) string { return channelOf(proc) + " " + proc }

// kindOf is what a lease adds to its id in the queue.
func (p *replay) kindOf(id int8) string {
	switch kind := p.kind[id]; {
	case kind == model.Reader:
		return "~r"
	case kind > 0:
		return fmt.Sprint("~p", kind)
	}
	return ""
}

// isOld reports whether the process that runs a script has those of before.
func (p *replay) isOld(script model.Script) bool {
	if script.Kind == model.ShowLife {
		return p.old[script.Who]
	}
	return script.Who >= 0 && p.old[p.protocol.Proc[script.Who]]
}

func (p *replay) set(script model.Script) scriptSet {
	if p.isOld(script) {
		return oldScripts()
	}
	return p.scripts
}

// owns reports whether an id is one that has the lock or a share of it.
func (p *replay) owns(id string) bool {
	for i := range p.before.Hold {
		if p.before.Holds(int8(i)) && leaseName(int8(i)) == id {
			return true
		}
	}
	return id == p.ownerName
}

// compareHolders checks who shares the lock, until when, and what permits have.
func (p *replay) compareHolders(s *model.State, holders, held []string, now int64) {
	entries := map[string]string{}
	for i := 0; i+1 < len(held); i += 2 {
		entries[held[i]] = held[i+1]
	}
	got := map[string]string{}
	for i := 0; i+1 < len(holders); i += 2 {
		whole, half, _ := strings.Cut(holders[i+1], ".")
		var ends int64
		fmt.Sscan(whole, &ends)
		if left := ticks(max(ends-now, 0)); ends >= now && s.Shared() {
			got[holders[i]] = fmt.Sprintf("%d ticks, broken %v", left, half != "")
		}
	}
	want := map[string]string{}
	for i, h := range s.Hold {
		if h.Left == 0 || !s.Shared() {
			continue
		}
		proc := procName(p.protocol.Proc[i])
		name := leaseName(int8(i)) + " " + waiterOf(proc)
		if h.Kept {
			name = "-" + leaseName(int8(i)) + " - "
		}
		want[name] = fmt.Sprintf("%d ticks, broken %v", h.Left, h.Marked)
		if s.Owner == model.Permits {
			p.comparePermit(h, entries[name])
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.differ("the holders are %v, the model's %v", got, want)
	}
}

func (p *replay) comparePermit(h model.Share, entry string) {
	var epoch uint64
	var since, limit, slot int64
	if _, err := fmt.Sscan(entry, &epoch, &since, &limit, &slot); err != nil || slot != int64(h.Slot) {
		p.differ("a permit is %q, the model's %+v", entry, h)
	}
	p.compareEpoch("the permit's", h.Epoch, epoch)
}

// overShare reports whether a holder has a share that is over and that no script has removed.
func (p *replay) overShare(holder string) bool {
	ends, err := p.client.ZScore(p.ctx, p.keys.holders(), holder).Result()
	return err == nil && int64(ends) < p.client.Time(p.ctx).Val().UnixMilli()
}
