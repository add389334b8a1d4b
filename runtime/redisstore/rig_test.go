package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/internal/testsync"
)

const (
	rigTTL       = int64(600_000)   // ms: longer than any test
	rigLiveness  = int64(1_200_000) // and than a lease: what is handed on has its whole TTL
	rigRetention = int64(3_600_000)

	anyTime = int64(1) << 52 // the latest moment of a request that never refuses itself
)

// rig calls the scripts directly, without a session, and looks after every call whether all keys have an expiry.
type rig struct {
	t       testing.TB
	ctx     context.Context
	client  *redis.Client
	keys    lockKeys
	scripts scriptSet
}

type scriptSet struct {
	acquire, release, retain, cancel, renew, held, alive, brk *script

	acquireShared, releaseShared, renewShared, downgrade, cancelShared, heldShared, aliveShared *script
}

func realScripts() scriptSet {
	return scriptSet{
		acquireScript, releaseScript, retainScript, cancelScript, renewScript, heldScript, aliveScript, breakScript,
		acquireSharedScript, releaseSharedScript, renewSharedScript, downgradeScript, cancelSharedScript,
		heldSharedScript, aliveSharedScript,
	}
}

// newRig returns a rig on a server of its own.
func newRig(t testing.TB) *rig {
	t.Helper()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), testsync.Patience)
	t.Cleanup(cancel)
	return &rig{t: t, ctx: ctx, client: client, keys: newKeySpace("lock").keys("k"), scripts: realScripts()}
}

func channelOf(proc string) string { return "lockgen:" + proc }

// acquire runs acquire.lua for a lease of a process; liveness 0 does not queue.
func (r *rig) acquire(id, proc string, liveness int64) answer {
	r.t.Helper()
	reply, err := r.askFor(r.keys, id, rigTTL, rigTTL+rigRetention, liveness, channelOf(proc)+" node "+proc, anyTime)
	r.called("acquire", err)
	a, err := parseAnswer(reply, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// askFor runs acquire.lua for one lease.
func (r *rig) askFor(keys lockKeys, id string, args ...any) (any, error) {
	return r.scripts.acquire.Run(r.ctx, r.client, keys.alone(), append(args, id)...).Result()
}

// byKind is the order in which the scripts that work on many leases get their keys.
func byKind(locks []lockKeys) []string {
	keys := make([]string, 0, 4*len(locks))
	for kind := range 4 {
		for _, lock := range locks {
			keys = append(keys, lock.alone()[kind])
		}
	}
	return keys
}

// release runs release.lua, or retain.lua to keep the lock.
func (r *rig) release(id string, keep int64) int {
	r.t.Helper()
	if keep > 0 {
		return r.number("retain", r.scripts.retain.Run(r.ctx, r.client, r.keys.alone(), id, keep, rigRetention))
	}
	return r.number("release", r.scripts.release.Run(r.ctx, r.client, r.keys.alone(), rigRetention, id))
}

func (r *rig) cancel(id string) int {
	r.t.Helper()
	answer, err := ints(r.scripts.cancel.Run(r.ctx, r.client, r.keys.alone(), id, rigRetention), 2)
	r.called("cancel", err)
	return int(answer[0])
}

func (r *rig) renew(id string, ttl int64) int {
	r.t.Helper()
	renewed, err := ints(r.scripts.renew.Run(r.ctx, r.client, []string{r.keys.lock, r.keys.floor}, rigRetention, id, ttl), 1)
	r.called("renew", err)
	return int(renewed[0])
}

// alive returns what is left of the lease in the way, and its id if it is one of the process.
func (r *rig) alive(proc string, liveness int64) (left int, own string) {
	r.t.Helper()
	keys := []string{r.keys.queue, r.keys.waiters, r.keys.lock}
	states, err := r.scripts.alive.Run(r.ctx, r.client, keys, channelOf(proc), liveness).Slice()
	r.called("alive", err)
	if len(states) != 1 {
		r.t.Fatalf("alive answered %v for one queue", states)
	}
	if state, ok := states[0].([]any); ok {
		own, _ = state[0].(string)
		states[0] = state[1]
	}
	n, _ := states[0].(int64)
	return int(n), own
}

// brk breaks the lease that holds the lock.
func (r *rig) brk(reason string, force bool) int {
	r.t.Helper()
	id, epoch := r.owner()
	return r.brkLease(id, epoch, reason, force)
}

func (r *rig) brkLease(id string, epoch uint64, reason string, force bool) int {
	r.t.Helper()
	by := 0
	if force {
		by = 1
	}
	return r.number("break", r.scripts.brk.Run(r.ctx, r.client, r.keys.all(), id, epoch, reason, rigRetention, by))
}

func (r *rig) held(id string) int {
	r.t.Helper()
	held, err := ints(r.scripts.held.Run(r.ctx, r.client, []string{r.keys.lock}, id), 1)
	r.called("held", err)
	return int(held[0])
}

func (r *rig) number(script string, cmd *redis.Cmd) int {
	r.t.Helper()
	n, err := cmd.Int()
	r.called(script, err)
	return n
}

// immortal lists the keys without an expiry.
var immortal = redis.NewScript(`
local found = {}
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) < 0 then found[#found + 1] = key end
end
return found`)

func (r *rig) called(script string, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%s: %v", script, err)
	}
	keys, err := immortal.Run(r.ctx, r.client, nil).StringSlice()
	if err != nil {
		r.t.Fatal(err)
	}
	if len(keys) > 0 {
		r.t.Fatalf("after %s these keys have no expiry: %q", script, keys)
	}
}

// owner returns the lease that holds the lock and its epoch; "" for nobody.
func (r *rig) owner() (id string, epoch uint64) {
	r.t.Helper()
	value, err := r.client.Get(r.ctx, r.keys.lock).Result()
	if errors.Is(err, redis.Nil) {
		return "", 0
	}
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := fmt.Sscan(value, &id, &epoch); err != nil {
		r.t.Fatalf("the lock is %q: %v", value, err)
	}
	return id, epoch
}

// wantOwner returns the owner's epoch.
func (r *rig) wantOwner(want string) uint64 {
	r.t.Helper()
	id, epoch := r.owner()
	if id != want {
		r.t.Fatalf("the owner is %q, want %q", id, want)
	}
	return epoch
}

func (r *rig) wantQueue(want ...string) {
	r.t.Helper()
	queue, err := r.client.ZRange(r.ctx, r.keys.queue, 0, -1).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	if fmt.Sprint(queue) != fmt.Sprint(want) {
		r.t.Fatalf("the queue is %q, want %q", queue, want)
	}
	for field := range r.hash() {
		if !strings.HasPrefix(field, "@") && field != "#" && !strings.Contains(" "+strings.Join(want, " ")+" ", " "+field+" ") {
			r.t.Fatalf("%q is not in the queue and still in the waiters hash", field)
		}
	}
}

func (r *rig) hash() map[string]string {
	r.t.Helper()
	hash, err := r.client.HGetAll(r.ctx, r.keys.waiters).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return hash
}

// want compares a script's result.
func (r *rig) want(what string, got, want int) {
	r.t.Helper()
	if got != want {
		r.t.Fatalf("%s returned %d, want %d", what, got, want)
	}
}

// expire lets a key's time run out now.
func (r *rig) expire(key string) {
	r.t.Helper()
	if err := r.client.PExpire(r.ctx, key, -time.Second).Err(); err != nil {
		r.t.Fatal(err)
	}
}

// silence makes a process one that has not shown itself for too long.
func (r *rig) silence(proc string) {
	r.t.Helper()
	if err := r.client.HSet(r.ctx, r.keys.waiters, "@"+channelOf(proc), "1").Err(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) pttl(key string) time.Duration {
	r.t.Helper()
	ttl, err := r.client.PTTL(r.ctx, key).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	return ttl
}

// inbox receives what is published to a process.
type inbox struct {
	r       *rig
	sub     *redis.PubSub
	channel string
	marks   int
}

func (r *rig) listen(proc string) *inbox {
	r.t.Helper()
	in := &inbox{r: r, channel: channelOf(proc)}
	in.sub = r.client.Subscribe(r.ctx, in.channel)
	if _, err := in.sub.Receive(r.ctx); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = in.sub.Close() })
	return in
}

// drain returns what was published until now: a mark that is published last cannot overtake anything.
func (in *inbox) drain() []string {
	in.r.t.Helper()
	in.marks++
	mark := fmt.Sprint("mark ", in.marks)
	if err := in.r.client.Publish(in.r.ctx, in.channel, mark).Err(); err != nil {
		in.r.t.Fatal(err)
	}
	var messages []string
	for {
		m, err := in.sub.ReceiveMessage(in.r.ctx)
		if err != nil {
			in.r.t.Fatal(err)
		}
		if m.Payload == mark {
			return messages
		}
		messages = append(messages, m.Payload)
	}
}

// wantNext checks that exactly one message came and begins like this.
func (in *inbox) wantNext(prefix string) {
	in.r.t.Helper()
	if got := in.drain(); len(got) != 1 || !strings.HasPrefix(got[0], prefix) {
		in.r.t.Fatalf("the process was sent %q, want one message %q", got, prefix)
	}
}
