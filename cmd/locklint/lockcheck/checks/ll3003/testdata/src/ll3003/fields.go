package ll3003

import (
	"context"
	"encoding/json"
	"log"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
)

// Fields and elements keep whether there is a lock as variables do, while nobody else can have changed them.

type reply struct {
	Err   error
	Code  int
	inner struct{ err error }
	next  *reply
}

func fieldOfPointer(ctx context.Context, rs *redsync.Redsync, out *reply) {
	m := rs.NewMutex("k")
	if out.Err = m.LockContext(ctx); out.Err != nil {
		return
	}
	out.Err = work()
	m.UnlockContext(ctx)
}

func fieldOfPointerInverted(ctx context.Context, rs *redsync.Redsync, out *reply) {
	m := rs.NewMutex("k")
	if out.Err = m.LockContext(ctx); out.Err == nil { // want `LL3003: .*\(when out.Err == nil\)`
		return
	}
	out.Err = work()
	m.UnlockContext(ctx)
}

func fieldOfOther(ctx context.Context, rs *redsync.Redsync, out, other *reply) {
	m := rs.NewMutex("k")
	out.Err = m.LockContext(ctx) // want `LL3003: .*\(when out.Err != nil\)`
	other.Err = nil              // may be the same
	if out.Err != nil {
		return
	}
	m.UnlockContext(ctx)
}

func fieldOfNoOther(ctx context.Context, rs *redsync.Redsync, out, other *reply) {
	m := rs.NewMutex("k")
	out.Err = m.LockContext(ctx)
	other.Code = 200 // another field
	if out.Err != nil {
		return
	}
	m.UnlockContext(ctx)
}

func fieldWhole(ctx context.Context, rs *redsync.Redsync, out, other *reply) {
	m := rs.NewMutex("k")
	out.Err = m.LockContext(ctx) // want `LL3003: .*\(when out.Err != nil\)`
	*other = reply{}
	if out.Err != nil {
		return
	}
	m.UnlockContext(ctx)
}

func fieldBehindPointer(ctx context.Context, rs *redsync.Redsync, out *reply, err *error) {
	m := rs.NewMutex("k")
	out.Err = m.LockContext(ctx) // want `LL3003: .*\(when out.Err != nil\)`
	*err = errTaken              // may point to the field
	if out.Err != nil {
		return
	}
	m.UnlockContext(ctx)
}

func fieldAndCall(ctx context.Context, rs *redsync.Redsync, out *reply) {
	m := rs.NewMutex("k")
	out.Err = m.LockContext(ctx) // want `LL3003: .*\(when out.Err != nil\)`
	settle(out)
	if out.Err != nil {
		return
	}
	m.UnlockContext(ctx)
}

func settle(r *reply) { r.Err = errTaken }

func fieldAndFarCall(ctx context.Context, rs *redsync.Redsync, out *reply) {
	m := rs.NewMutex("k")
	out.Err = m.LockContext(ctx)
	log.Printf("locked: %v", out.Err)
	time.Sleep(time.Second)
	if out.Err != nil {
		return
	}
	m.UnlockContext(ctx)
}

func fieldOfField(ctx context.Context, rs *redsync.Redsync, out *reply) {
	m := rs.NewMutex("k")
	if out.next.inner.err = m.LockContext(ctx); out.next.inner.err != nil {
		return
	}
	m.UnlockContext(ctx)
}

func fieldOfFieldMoved(ctx context.Context, rs *redsync.Redsync, out *reply) {
	m := rs.NewMutex("k")
	out.next.Err = m.LockContext(ctx) // want `LL3003: .*\(when out.next.Err != nil\)`
	out.next = out.next.next
	if out.next.Err != nil {
		return
	}
	m.UnlockContext(ctx)
}

func fieldOfPhi(ctx context.Context, rs *redsync.Redsync, all *reply) {
	m := rs.NewMutex("k")
	for r := all; r != nil; r = r.next {
		r.Err = m.LockContext(ctx) // want `LL3003: .*\(when r.Err == nil\)`
		if r.Err == nil {
			return
		}
	}
}

func fieldOfResult(ctx context.Context, rs *redsync.Redsync) (out reply) {
	m := rs.NewMutex("k")
	if out.Err = m.LockContext(ctx); out.Err != nil {
		return
	}
	defer m.UnlockContext(ctx)
	out.Err = work()
	return
}

func fieldOfLocal(ctx context.Context, rs *redsync.Redsync) error {
	var o struct {
		err error
		m   *redsync.Mutex
	}
	o.m = rs.NewMutex("k")
	if o.err = o.m.LockContext(ctx); o.err != nil {
		return o.err
	}
	o.err = work()
	o.m.UnlockContext(ctx)
	return o.err
}

func fieldOverwritten(ctx context.Context, rs *redsync.Redsync) error {
	var o struct{ err error }
	m := rs.NewMutex("k")
	o.err = m.LockContext(ctx) // want `LL3003: .*\(when o.err != nil\)`
	o.err = work()
	if o.err != nil {
		return o.err
	}
	m.UnlockContext(ctx)
	return nil
}

func fieldOverwrittenByLiteral(ctx context.Context, rs *redsync.Redsync) error {
	var o struct{ err error }
	m := rs.NewMutex("k")
	o.err = m.LockContext(ctx) // want `LL3003: .*\(when o.err != nil\)`
	func() { o.err = work() }()
	if o.err != nil {
		return o.err
	}
	m.UnlockContext(ctx)
	return nil
}

func status(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var st struct{ code int }
	if m.LockContext(ctx) == nil {
		st.code = 200
	} else {
		st.code = 409
	}
	if st.code == 409 {
		return nil
	}
	err := work()
	m.UnlockContext(ctx)
	return err
}

func statusInverted(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var st struct{ code int }
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st.code != 409\)`
		st.code = 200
	} else {
		st.code = 409
	}
	if st.code != 409 {
		return nil
	}
	m.UnlockContext(ctx)
	return nil
}

func statusOfNone(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	st := reply{Code: 500}
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st.Code == 500\)`
		st.inner.err = nil // and no code
	}
	if st.Code == 500 {
		return nil
	}
	m.UnlockContext(ctx)
	return nil
}

func statusRead(ctx context.Context, rs *redsync.Redsync, text []byte) error {
	m := rs.NewMutex("k")
	st := &reply{}
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st.Code == 409\)`
		st.Code = 200
	} else {
		st.Code = 409
	}
	if err := json.Unmarshal(text, st); err != nil {
		log.Print(err)
	}
	if st.Code == 409 {
		return nil
	}
	m.UnlockContext(ctx)
	return nil
}

type progress struct {
	state string
	held  bool
}

func stateInDefer(ctx context.Context, rs *redsync.Redsync) error {
	p := &progress{}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	p.state = "locked"
	defer func() {
		if p.state == "locked" {
			m.UnlockContext(ctx)
		}
	}()
	return work()
}

func stateInDeferInverted(ctx context.Context, rs *redsync.Redsync) error {
	p := &progress{}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	p.state = "locked"
	defer func() {
		if p.state != "locked" {
			m.UnlockContext(ctx)
		}
	}()
	return work()
}

func stateInDeferLate(ctx context.Context, rs *redsync.Redsync) error {
	p := &progress{}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: .*\(when err != nil\) leaves`
		return err
	}
	defer func() {
		if p.held {
			m.UnlockContext(ctx)
		}
	}()
	if err := work(); err != nil {
		return err
	}
	p.held = true
	return nil
}

func stateInDeferAndCall(ctx context.Context, rs *redsync.Redsync, use func(*progress)) error {
	p := &progress{}
	m := rs.NewMutex("k")
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	p.held = true
	defer func() {
		if p.held {
			m.UnlockContext(ctx)
		}
	}()
	use(p)
	return nil
}

func element(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var held [2]bool
	if m.LockContext(ctx) == nil {
		held[0] = true
	}
	if !held[0] {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func elementOther(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	var held [2]bool
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !held\[0\]\)`
		held[1] = true
	}
	if !held[0] {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func elementAny(ctx context.Context, rs *redsync.Redsync, i int) error {
	m := rs.NewMutex("k")
	var held [2]bool
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when !held\[0\]\)`
		held[0] = true
	}
	held[i] = false
	if !held[0] {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

// The length of a list that nobody changes is one number.

func triesDelays(ctx context.Context, rs *redsync.Redsync, delays []time.Duration) error {
	m := rs.NewMutex("k")
	i := 0
	for ; i < len(delays); i++ {
		if m.LockContext(ctx) == nil {
			break
		}
		time.Sleep(delays[i])
	}
	if i == len(delays) {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func triesDelaysInverted(ctx context.Context, rs *redsync.Redsync, delays []time.Duration) error {
	m := rs.NewMutex("k")
	i := 0
	for ; i < len(delays); i++ {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when i != len\(delays\)\)`
			break
		}
	}
	if i != len(delays) {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func triesOtherDelays(ctx context.Context, rs *redsync.Redsync, delays, more []time.Duration) error {
	m := rs.NewMutex("k")
	i := 0
	for ; i < len(delays); i++ {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when i == len\(more\)\)`
			break
		}
	}
	if i == len(more) {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func triesFewerDelays(ctx context.Context, rs *redsync.Redsync, delays []time.Duration) error {
	m := rs.NewMutex("k")
	i := 0
	for ; i < len(delays); i++ {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when i == len\(delays\)\)`
			break
		}
	}
	delays = delays[1:]
	if i == len(delays) {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func triesCapturedDelays(ctx context.Context, rs *redsync.Redsync, delays []time.Duration) error {
	defer func() { println(len(delays)) }()
	m := rs.NewMutex("k")
	i := 0
	for ; i < len(delays); i++ {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when i == len\(delays\)\)`
			break
		}
	}
	delays = delays[1:]
	if i == len(delays) {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

var delays = []time.Duration{time.Second, time.Minute}

func triesGlobalDelays(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	i := 0
	for ; i < len(delays); i++ {
		if m.LockContext(ctx) == nil {
			break
		}
	}
	if i == len(delays) {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

func triesChangedGlobalDelays(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	i := 0
	for ; i < len(delays); i++ {
		if m.LockContext(ctx) == nil { // want `LL3003: .*\(when i == len\(delays\)\)`
			break
		}
	}
	delays = nil
	if i == len(delays) {
		return errTaken
	}
	m.UnlockContext(ctx)
	return nil
}

// Goroutines change what they reach by the time one waits for them.

func fieldAndGoroutine(ctx context.Context, rs *redsync.Redsync) error {
	m, done := rs.NewMutex("k"), make(chan bool)
	out := &reply{}
	out.Err = m.LockContext(ctx) // want `LL3003: .*\(when out.Err != nil\)`
	go func() {
		out.Err = work()
		close(done)
	}()
	<-done
	if out.Err != nil {
		return out.Err
	}
	m.UnlockContext(ctx)
	return nil
}

func fieldAndWait(ctx context.Context, rs *redsync.Redsync, wg *sync.WaitGroup) error {
	m := rs.NewMutex("k")
	out := &reply{}
	out.Err = m.LockContext(ctx) // want `LL3003: .*\(when out.Err != nil\)`
	go func() {
		defer wg.Done()
		out.Err = work()
	}()
	wg.Wait()
	if out.Err != nil {
		return out.Err
	}
	m.UnlockContext(ctx)
	return nil
}

func fieldAndReader(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	out := &reply{}
	defer func() { println(out.Code) }()
	if out.Err = m.LockContext(ctx); out.Err != nil {
		return out.Err
	}
	m.UnlockContext(ctx)
	return nil
}

func fieldSetInDefer(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	p := &progress{}
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	p.held = true
	defer func() {
		if p.held {
			m.UnlockContext(ctx)
		}
	}()
	defer func() { p.held = false }()
	return work()
}

func fieldSetInDeferredCall(ctx context.Context, rs *redsync.Redsync) error {
	m := rs.NewMutex("k")
	p := &progress{}
	if err := m.LockContext(ctx); err != nil { // want `LL3003: `
		return err
	}
	p.held = true
	defer func() {
		if p.held {
			m.UnlockContext(ctx)
		}
	}()
	defer p.lose()
	return work()
}

func (p *progress) lose() { p.held = false }
