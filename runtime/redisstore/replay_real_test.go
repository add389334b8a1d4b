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
	// kinds draws what the leases of a walk ask for; nil: all are writers.
	kinds  drawKinds
	kind   [model.MaxLeases]int8 // of this walk
	old    [model.MaxProcs]bool
	before model.Server // when it was compared last
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
	p.protocol, p.epochs, p.trace, p.before = protocol, map[uint8]uint64{}, nil, model.Server{}
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
	p.kind, p.old = s.Kind, s.Old
	var pushed []model.Push
	for _, script := range effect.Scripts[:effect.Count] {
		p.run(script, s.TTL)
		pushed = append(pushed, script.Pushed...)
	}
	p.compare(s)
	p.comparePushes(pushed)
	p.before = s.Server
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
		waiter   string
		got      int
	)
	if script.Who >= 0 {
		ttl = int64(ttls[script.Who]) * tick.Milliseconds()
		if script.Kind != model.ShowLife {
			waiter = waiterOf(procName(p.protocol.Proc[script.Who]))
		}
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
		args := []any{ttl, ttl + replayRetention, liveness, waiterOf(proc), latest}
		kind := p.kindOf(script.Who)
		if kind == "" || p.isOld(script) {
			reply := p.amongOthers(p.set(script).acquire, id, args...)
			if a, err := parseAnswer(reply, time.Now()); err != nil || !a.shared || p.isOld(script) {
				p.compareGrant(script, reply)
				return
			}
		}
		cmd := p.scripts.acquireShared.Run(p.ctx, p.client, all, append(args, id, kind)...)
		p.called("acquire_shared", cmd.Err())
		p.compareGrant(script, cmd.Val())
		return
	case model.Renew:
		renewed, err := ints(p.set(script).renew.Run(p.ctx, p.client, []string{p.keys.lock, p.keys.floor}, replayRetention, id, ttl), 1)
		p.called("renew", err)
		if renewed[0] == answerElsewhere || p.kindOf(script.Who) != "" {
			renewed, err = ints(p.scripts.renewShared.Run(p.ctx, p.client,
				[]string{p.keys.lock, p.keys.floor, p.keys.holders(), p.keys.held()}, replayRetention, waiter, id, ttl), 1)
			p.called("renew_shared", err)
		}
		got = int(renewed[0])
	case model.Held:
		other := newKeySpace("lock").keys("before").lock
		held, err := ints(p.set(script).held.Run(p.ctx, p.client, []string{other, p.keys.lock}, "nobody", id), 2)
		p.called("held", err)
		if held[1] == answerElsewhere || p.kindOf(script.Who) != "" {
			held, err = ints(p.scripts.heldShared.Run(p.ctx, p.client,
				[]string{other, other + "h", p.keys.lock, p.keys.holders()}, waiter, "nobody", id), 2)
			p.called("held_shared", err)
		}
		got = int(held[1])
	case model.Release:
		got = answerElsewhere
		if p.kindOf(script.Who) == "" {
			reply, _ := p.amongOthers(p.set(script).release, id, replayRetention).(int64)
			got = int(reply)
		}
		if got == answerElsewhere {
			over := p.overShare(id + " " + waiter)
			got = p.number("release_shared", p.scripts.releaseShared.Run(p.ctx, p.client, all, replayRetention, waiter, 0, id))
			if over && !script.Answer.OK {
				got = 0 // that it was over does not matter to a reader that leaves, and the fast path does not look
			}
		}
	case model.Retain:
		got = answerElsewhere
		if p.kindOf(script.Who) == "" {
			got = p.number("retain", p.set(script).retain.Run(p.ctx, p.client, p.keys.alone(), id, keep, replayRetention))
		}
		if got == answerElsewhere {
			got = p.number("release_shared", p.scripts.releaseShared.Run(p.ctx, p.client, all, replayRetention, waiter, keep, id))
		}
	case model.Downgrade, model.DowngradeAnew:
		anew := 0
		if script.Kind == model.DowngradeAnew {
			anew = 1
		}
		answer, err := ints(p.scripts.downgrade.Run(p.ctx, p.client, all, id, waiter, replayRetention, anew), 2)
		p.called("downgrade", err)
		if got = int(answer[0]); script.Answer.OK && got == 1 {
			p.compareEpoch("the answer's", script.Answer.Epoch, uint64(answer[1]))
		}
	case model.Cancel:
		cancelled := []int64{answerElsewhere}
		var err error
		if p.kindOf(script.Who) == "" {
			cancelled, err = ints(p.set(script).cancel.Run(p.ctx, p.client, p.keys.alone(), id, replayRetention), 2)
			p.called("cancel", err)
		}
		if cancelled[0] == answerElsewhere {
			cancelled, err = ints(p.scripts.cancelShared.Run(p.ctx, p.client, all, id, replayRetention, waiter, p.kindOf(script.Who)), 2)
			p.called("cancel_shared", err)
		}
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
		keys, set := all, p.scripts
		switch script.Break.Who {
		case model.Readers, model.Permits:
			named = map[int8]string{model.Readers: "*r", model.Permits: "*p"}[script.Break.Who]
			keys, set = p.keys.alone(), oldScripts()
		}
		if who := script.Break.Who; who >= 0 && p.before.Hold[who].Kept {
			named = "-"
		}
		got = p.number("break", set.brk.Run(p.ctx, p.client, keys,
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
	channel := channelOf(procName(script.Who))
	states, err := p.set(script).alive.Run(p.ctx, p.client, keys, channel, liveness).Slice()
	if err == nil && states[1] == int64(aliveElsewhere) {
		keys = append(keys, empty.holders(), p.keys.holders())
		states, err = p.scripts.aliveShared.Run(p.ctx, p.client, keys, channel, liveness).Slice()
	}
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
		if id, _ := state[0].(string); !want.Owner || !p.owns(id) || want.OK != (left >= 0) || want.OK && ticks(left) != want.Left {
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
		got = append(got, m.Channel+" "+p.grantInTicks(words))
	}
	var want []string
	for _, push := range pushed {
		text := p.textOf(push)
		if push.Maybe && !slices.Contains(got, text) {
			continue
		}
		want = append(want, text)
	}
	recallsLast(got)
	recallsLast(want)
	if !slices.Equal(got, want) {
		p.differ("published %q, the model says %q", got, want)
	}
}

// recallsLast sorts the messages to holders, which go out in the order of their shares' ends.
func recallsLast(messages []string) {
	slices.SortStableFunc(messages, func(a, b string) int {
		aRecall, bRecall := strings.Contains(a, " recall "), strings.Contains(b, " recall ")
		switch {
		case aRecall && bRecall:
			return strings.Compare(a, b)
		case aRecall:
			return 1
		case bRecall:
			return -1
		}
		return 0
	})
}

// grantInTicks leaves the moment out of a pushed grant, which is compared with the next answer, and rounds its length.
func (p *replay) grantInTicks(words []string) string {
	if words[0] == "grant" && len(words) == 6 {
		words = words[:5] // the slot is compared in what the permit's answers say
	}
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
		return fmt.Sprint(channel, " poke ", id, p.kindOf(push.To))
	case push.Recall:
		return fmt.Sprint(channel, " recall ", id)
	case push.Epoch == 0:
		return fmt.Sprint(channel, " lost ", id, " ", len(p.keys.lock), " ", p.keys.lock, " test")
	}
	return fmt.Sprint(channel, " grant ", id, p.kindOf(push.To), " ", p.epochs[push.Epoch], " ", push.TTL, " ticks")
}

// differ ends the walk.
func (p *replay) differ(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s\nkinds %v, old %v, processes %v, before %+v\nafter %s", fmt.Sprintf(format, args...), p.kind, p.old,
		p.protocol.Proc, p.before, strings.Join(p.trace, ", "))
}
