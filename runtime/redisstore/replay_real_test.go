package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/runtime/redisstore/internal/model"
)

// replay repeats the steps of the model on a real server.
type replay struct {
	*rig
	protocol *model.Protocol
	sub      *redis.PubSub
	marks    int
	calls    int
	epochs   map[uint8]uint64 // the real epoch for each of the model's
	trace    []string
	// ownerName is the lease that held the lock when it was compared last.
	ownerName string
}

func newReplay(r *rig) *replay {
	p := &replay{rig: r, sub: r.client.PSubscribe(r.ctx, channelOf("*"))}
	if _, err := p.sub.Receive(r.ctx); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(p.close)
	return p
}

func (p *replay) close() { _ = p.sub.Close() }

// begin empties the server for a new walk. clockBehind leaves a floor that the clock will not reach, so that the floor
// alone makes epochs grow.
func (p *replay) begin(protocol *model.Protocol, clockBehind bool) {
	if err := p.client.FlushDB(p.ctx).Err(); err != nil {
		p.t.Fatal(err)
	}
	p.protocol, p.epochs, p.trace = protocol, map[uint8]uint64{}, nil
	if clockBehind {
		ahead := p.client.Time(p.ctx).Val().Add(time.Hour).UnixMicro()
		if err := p.client.Set(p.ctx, p.keys.floor, ahead, time.Duration(replayRetention)*time.Millisecond).Err(); err != nil {
			p.t.Fatal(err)
		}
		p.epochs[0] = uint64(ahead) // lower than all that follow
	}
}

// repeat does on the server what the model did, and compares.
func (p *replay) repeat(s *model.State, effect *model.Effect) {
	if effect.Ticked {
		if err := passTime.Run(p.ctx, p.client, p.keys.all(), tick.Milliseconds(), slack.Milliseconds()).Err(); err != nil {
			p.t.Fatal(err)
		}
	}
	var pushed []model.Push
	for _, script := range effect.Scripts[:effect.Count] {
		p.run(script, s.TTL)
		pushed = append(pushed, script.Pushed...)
	}
	p.compare(s)
	p.comparePushes(pushed)
}

func leaseName(id int8) string { return "L" + strconv.Itoa(int(id)) }

func procName(proc int8) string { return "P" + strconv.Itoa(int(proc)) }

// run executes one script and compares its answer.
func (p *replay) run(script model.Script, ttls [model.MaxLeases]int8) {
	var (
		id       = leaseName(script.Who)
		liveness = (time.Duration(p.protocol.Liveness)*tick - slack/2).Milliseconds() // its multiples are no whole ticks
		ttl      int64
		keep     = int64(model.Keep) * tick.Milliseconds()
		all      = p.keys.all()
		got      int
	)
	if script.Who >= 0 {
		ttl = int64(ttls[script.Who]) * tick.Milliseconds()
	}
	switch script.Kind {
	case model.Try, model.Ask:
		if script.Kind == model.Try {
			liveness = 0
		}
		proc := procName(p.protocol.Proc[script.Who])
		latest := int64(1) << 52
		if script.Late {
			latest = 1
		}
		reply := p.amongOthers(p.scripts.acquire, id, ttl, ttl+replayRetention, liveness, channelOf(proc)+" "+proc, latest)
		p.compareGrant(script, reply)
		return
	case model.Renew:
		renewed, err := ints(p.scripts.renew.Run(p.ctx, p.client, []string{p.keys.lock, p.keys.floor}, replayRetention, id, ttl), 1)
		p.called("renew", err)
		got = int(renewed[0])
	case model.Held:
		other := newKeySpace("lock").keys("before").lock
		held, err := ints(p.scripts.held.Run(p.ctx, p.client, []string{other, p.keys.lock}, "nobody", id), 2)
		p.called("held", err)
		got = int(held[1])
	case model.Release:
		reply, _ := p.amongOthers(p.scripts.release, id, replayRetention).(int64)
		got = int(reply)
	case model.Retain:
		got = p.number("retain", p.scripts.retain.Run(p.ctx, p.client, all, id, keep, replayRetention))
	case model.Cancel:
		cancelled, err := ints(p.scripts.cancel.Run(p.ctx, p.client, all, id, replayRetention), 2)
		p.called("cancel", err)
		got = int(cancelled[0])
	case model.ShowLife:
		p.showLife(script, liveness)
		return
	case model.Break:
		named, force := "-", 0
		if script.Break.Who >= 0 {
			named = leaseName(script.Break.Who)
		}
		if script.Break.Force {
			force = 1
		}
		got = p.number("break", p.scripts.brk.Run(p.ctx, p.client, all,
			named, p.epochs[script.Break.Epoch], "test", replayRetention, force))
	}
	want := 0
	switch {
	case script.Answer.OK:
		want = 1
	case script.Answer.Broken:
		want = 2
	}
	if got != want {
		p.differ("%s %s answers %d, the model %+v", script.Kind, id, got, script.Answer)
	}
}

// showLife runs alive.lua for two queues, one of which nobody stands in.
func (p *replay) showLife(script model.Script, liveness int64) {
	empty := newKeySpace("lock").keys("empty")
	keys := []string{empty.queue, p.keys.queue, empty.waiters, p.keys.waiters, empty.lock, p.keys.lock}
	states, err := p.scripts.alive.Run(p.ctx, p.client, keys, channelOf(procName(script.Who)), liveness).Slice()
	p.called("alive", err)
	if len(states) != 2 || states[0] != int64(-1) {
		p.differ("alive answers %v for a queue that is not there and one that may be", states)
	}
	want := script.Answer
	switch state := states[1].(type) {
	case int64:
		if want.Owner || want.OK != (state >= 0) || want.OK && ticks(state) != want.Left {
			p.differ("alive says that the lease in the way has %d ms left, the model %+v", state, want)
		}
	case []any:
		left, _ := state[1].(int64)
		if id, _ := state[0].(string); !want.Owner || id != p.ownerName || want.OK != (left >= 0) || want.OK && ticks(left) != want.Left {
			p.differ("alive says that process %d owns the lock by %v, the model %+v", script.Who, state, want)
		}
	}
}

// amongOthers runs a script that works on many leases for one of them: first, last, in the middle or alone. The others
// have locks of their own, which the calls before have left taken, waited for or free.
func (p *replay) amongOthers(s *script, id string, args ...any) any {
	p.calls++
	var keys []lockKeys
	mine := 0
	for i, other := range []string{"before", "", "after"} {
		switch {
		case other == "":
			mine = len(args)
			keys, args = append(keys, p.keys), append(args, id)
		case p.calls>>i&1 == 1:
			keys = append(keys, newKeySpace("lock").keys(other))
			args = append(args, fmt.Sprint(other, p.calls>>3&1))
		}
	}
	reply := s.Run(p.ctx, p.client, byKind(keys), args...)
	if len(keys) == 1 {
		p.called("acquire or release", reply.Err())
		return reply.Val()
	}
	answers, err := reply.Slice()
	p.called("acquire or release", err)
	if len(answers) != len(keys) {
		p.differ("%d answers for %d leases", len(answers), len(keys))
	}
	return answers[mine-(len(args)-len(answers))]
}

// replayRetention is longer than any walk.
var replayRetention = (1000 * tick).Milliseconds()

func (p *replay) compareGrant(script model.Script, reply any) {
	a, err := parseAnswer(reply, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	if a.granted != script.Answer.OK || a.late != script.Answer.Late || a.broken != script.Answer.Broken {
		p.differ("%s for lease %d answers %+v, the model %+v", script.Kind, script.Who, a, script.Answer)
	}
	if a.late || a.broken {
		return
	}
	if !a.granted {
		if left := ticks(a.remaining.Milliseconds()); left != script.Answer.Left {
			p.differ("%s for lease %d says that the lease in the way has %d ticks left, the model %d", script.Kind, script.Who, left, script.Answer.Left)
		}
		return
	}
	p.compareEpoch("the answer's", script.Answer.Epoch, a.epoch)
	if a.ttl > 0 && ticks(a.ttl.Milliseconds()) != script.Answer.TTL {
		p.differ("the grant is said to be for %v, the model says %d ticks", a.ttl, script.Answer.TTL)
	}
	age := min(time.Duration(a.clock.Micros-a.since)*time.Microsecond/tick, model.TTL)
	if int8(age) != script.Answer.Age {
		p.differ("the grant is said to be %d ticks old, the model says %d", age, script.Answer.Age)
	}
}

// compareEpoch learns the real epoch for one of the model's. A new one must be higher than all before.
func (p *replay) compareEpoch(whose string, abstract uint8, real uint64) {
	known, ok := p.epochs[abstract]
	if ok && known != real {
		p.differ("%s epoch is %d, want %d (the model's %d)", whose, real, known, abstract)
	}
	for a, r := range p.epochs {
		if !ok && (r < real) != (a < abstract) {
			p.differ("%s epoch %d (the model's %d) beside %d (the model's %d)", whose, real, abstract, r, a)
		}
	}
	p.epochs[abstract] = real
}

// comparePushes checks that exactly these messages were published since the last time.
func (p *replay) comparePushes(pushed []model.Push) {
	p.marks++
	mark := fmt.Sprint("mark ", p.marks)
	if err := p.client.Publish(p.ctx, channelOf("mark"), mark).Err(); err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for {
		m, err := p.sub.ReceiveMessage(p.ctx)
		if err != nil {
			p.t.Fatal(err)
		}
		if m.Payload == mark {
			break
		}
		words := strings.Fields(m.Payload)
		if id := strings.Join(words[1:min(len(words), 2)], ""); strings.HasPrefix(id, "before") || strings.HasPrefix(id, "after") {
			continue // see amongOthers: they queue behind each other
		}
		got = append(got, m.Channel+" "+grantInTicks(words))
	}
	var want []string
	for _, push := range pushed {
		text := p.textOf(push)
		if push.Maybe && !slices.Contains(got, text) {
			continue
		}
		want = append(want, text)
	}
	if !slices.Equal(got, want) {
		p.differ("published %q, the model says %q", got, want)
	}
}

// grantInTicks leaves the moment out of a pushed grant, which is compared with the next answer, and rounds its length.
func grantInTicks(words []string) string {
	if words[0] == "grant" && len(words) == 5 {
		ttl, _ := strconv.ParseInt(words[4], 10, 64)
		words = append(words[:3:3], fmt.Sprint(ticks(ttl), " ticks"))
	}
	return strings.Join(words, " ")
}

// textOf is how the scripts publish what the model says.
func (p *replay) textOf(push model.Push) string {
	id, channel := leaseName(push.To), channelOf(procName(p.protocol.Proc[push.To]))
	switch {
	case push.Poke:
		return fmt.Sprint(channel, " poke ", id)
	case push.Epoch == 0:
		return fmt.Sprint(channel, " lost ", id, " ", len(p.keys.lock), " ", p.keys.lock, " test")
	}
	return fmt.Sprint(channel, " grant ", id, " ", p.epochs[push.Epoch], " ", push.TTL, " ticks")
}

// differ ends the walk.
func (p *replay) differ(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s\nafter %s", fmt.Sprintf(format, args...), strings.Join(p.trace, ", "))
}
