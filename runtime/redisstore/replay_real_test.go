package redisstore

import (
	"crypto/sha1"
	"encoding/hex"
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
		if err := passTime.Run(p.ctx, p.client, p.keys.all(), tick.Milliseconds()).Err(); err != nil {
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
		liveness = int64(model.Liveness) * tick.Milliseconds()
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
		reply := p.amongOthers(p.scripts.acquire, id, ttl, ttl+replayRetention, liveness, channelOf(proc)+" "+proc)
		p.compareGrant(script, reply)
		return
	case model.Renew:
		renewed, err := ints(p.scripts.renew.run(p.ctx, p.client, []string{p.keys.lock, p.keys.floor}, replayRetention, id, ttl), 1)
		p.called("renew", err)
		got = int(renewed[0])
	case model.Release:
		reply, _ := p.amongOthers(p.scripts.release, id, replayRetention).(int64)
		got = int(reply)
	case model.Retain:
		got = p.number("retain", p.scripts.retain.run(p.ctx, p.client, all, id, keep, replayRetention))
	case model.Cancel:
		got = p.number("cancel", p.scripts.cancel.run(p.ctx, p.client, all, id, replayRetention))
	case model.ShowLife:
		left := p.number("alive", p.scripts.alive.run(p.ctx, p.client, []string{p.keys.queue, p.keys.waiters, p.keys.lock}, channelOf(procName(script.Who)), liveness))
		if got = 1; left < 0 {
			got = 0
		} else if ticks(int64(left)) != script.Answer.Left {
			p.differ("alive says that the lease in the way has %d ms left, the model %d ticks", left, script.Answer.Left)
		}
	case model.Break:
		got = p.number("break", p.scripts.brk.run(p.ctx, p.client, all, "test", replayRetention))
	}
	if (got == 1) != script.Answer.OK {
		p.differ("%s %s answers %d, the model %v", script.Kind, id, got, script.Answer.OK)
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
	reply := s.run(p.ctx, p.client, byKind(keys), args...)
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
	if a.granted != script.Answer.OK {
		p.differ("%s for lease %d answers %+v, the model %+v", script.Kind, script.Who, a, script.Answer)
	}
	if !a.granted {
		if left := ticks(a.remaining.Milliseconds()); left != script.Answer.Left {
			p.differ("%s for lease %d says that the lease in the way has %d ticks left, the model %d", script.Kind, script.Who, left, script.Answer.Left)
		}
		return
	}
	p.compareEpoch("the answer's", script.Answer.Epoch, a.epoch)
	age := min(time.Duration(a.clock.micros-a.since)*time.Microsecond/tick, model.TTL)
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
	var got, want []string
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
		if words[0] == "grant" {
			words = words[:3] // the moment is compared with the next answer
		}
		got = append(got, m.Channel+" "+strings.Join(words[:min(len(words), 3)], " "))
	}
	for _, push := range pushed {
		text := channelOf(procName(p.protocol.Proc[push.To]))
		switch id := leaseName(push.To); {
		case push.Poke:
			text += " poke " + id
		case push.Epoch == 0:
			text += " lost " + id + " test"
		default:
			text += fmt.Sprint(" grant ", id, " ", p.epochs[push.Epoch])
		}
		want = append(want, text)
	}
	if !slices.Equal(got, want) {
		p.differ("published %q, the model says %q", got, want)
	}
}

// differ ends the walk.
func (p *replay) differ(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s\nafter %s", fmt.Sprintf(format, args...), strings.Join(p.trace, ", "))
}

func shaOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
