package etcdstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"
)

// fakeEtcd is etcd in memory, for the time of a bubble, as far as the driver uses it. It forgets no history.
type fakeEtcd struct {
	mu       sync.Mutex            // guards what follows
	term     uint64                // of its leader
	stopped  []map[int64]time.Time // of former leaders that stand still: when the leases end of which each knows
	revision int64
	keys     map[string]*mvccpb.KeyValue // a change replaces them
	leases   map[int64]*fakeLease
	granted  int64         // the last lease
	history  []*etcd.Event // one after another
	changed  chan struct{} // is closed with the next revision
}

type fakeLease struct {
	ttl   time.Duration
	until time.Time
	timer *time.Timer
}

func newFakeEtcd() *fakeEtcd {
	return &fakeEtcd{
		term: 1, keys: make(map[string]*mvccpb.KeyValue), leases: make(map[int64]*fakeLease), changed: make(chan struct{}),
	}
}

// left is what there is, but for the base of the driver's names, which stays.
func (e *fakeEtcd) left() (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for key := range e.keys {
		if key != newSpace("lockgen/", "lock").base() {
			all = append(all, key)
		}
	}
	for id := range e.leases {
		all = append(all, fmt.Sprint("lease ", id))
	}
	return all
}

// inRange reports whether a key is the one that a request names, or in its range.
func inRange(key, from, end []byte) bool {
	if len(end) == 0 {
		return bytes.Equal(key, from)
	}
	return bytes.Compare(key, from) >= 0 && bytes.Compare(key, end) < 0
}

// copies are what an answer has of keys: it belongs to who asks.
func copies(all []*mvccpb.KeyValue) []*mvccpb.KeyValue {
	own := make([]*mvccpb.KeyValue, len(all))
	for i, kv := range all {
		own[i] = &mvccpb.KeyValue{
			Key: kv.Key, Value: kv.Value, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision, Lease: kv.Lease,
		}
	}
	return own
}

// The methods that follow, up to transact, are called with mu held.

func (e *fakeEtcd) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{Revision: e.revision, RaftTerm: e.term}
}

// found are the keys of a range, in their order.
func (e *fakeEtcd) found(from, end []byte) (all []*mvccpb.KeyValue) {
	for _, kv := range e.keys {
		if inRange(kv.Key, from, end) {
			all = append(all, kv)
		}
	}
	slices.SortFunc(all, func(a, b *mvccpb.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	return all
}

func (e *fakeEtcd) read(r *pb.RangeRequest) *pb.RangeResponse {
	all := e.found(r.Key, r.RangeEnd)
	out := &pb.RangeResponse{Header: e.header(), Count: int64(len(all))}
	if r.CountOnly {
		return out
	}
	all = slices.DeleteFunc(all, func(kv *mvccpb.KeyValue) bool {
		made, most := kv.CreateRevision, r.MaxCreateRevision
		return made < r.MinCreateRevision || most != 0 && made > most
	})
	if r.SortTarget == pb.RangeRequest_CREATE {
		slices.SortStableFunc(all, func(a, b *mvccpb.KeyValue) int { return int(a.CreateRevision - b.CreateRevision) })
	}
	if r.SortOrder == pb.RangeRequest_DESCEND {
		slices.Reverse(all)
	}
	if r.Limit > 0 && int64(len(all)) > r.Limit {
		all, out.More = all[:r.Limit], true
	}
	out.Kvs = copies(all)
	return out
}

// change does something at the next revision, which comes if that changes anything.
func (e *fakeEtcd) change(do func()) {
	before := len(e.history)
	if do(); len(e.history) > before {
		e.revision++
		close(e.changed)
		e.changed = make(chan struct{})
	}
}

func (e *fakeEtcd) put(p *pb.PutRequest) *pb.PutResponse {
	now, out := e.revision+1, new(pb.PutResponse)
	kv := &mvccpb.KeyValue{Key: p.Key, Value: p.Value, CreateRevision: now, ModRevision: now, Lease: p.Lease}
	if old := e.keys[string(p.Key)]; old != nil {
		kv.CreateRevision = old.CreateRevision
		if p.IgnoreLease {
			kv.Lease = old.Lease
		}
		if p.PrevKv {
			out.PrevKv = copies([]*mvccpb.KeyValue{old})[0]
		}
	}
	e.keys[string(p.Key)] = kv
	e.history = append(e.history, &etcd.Event{Type: mvccpb.Event_PUT, Kv: kv})
	return out
}

func (e *fakeEtcd) remove(d *pb.DeleteRangeRequest) *pb.DeleteRangeResponse {
	all := e.found(d.Key, d.RangeEnd)
	for _, kv := range all {
		delete(e.keys, string(kv.Key))
		gone := &mvccpb.KeyValue{Key: kv.Key, ModRevision: e.revision + 1}
		e.history = append(e.history, &etcd.Event{Type: mvccpb.Event_DELETE, Kv: gone})
	}
	out := &pb.DeleteRangeResponse{Header: e.header(), Deleted: int64(len(all))}
	if d.PrevKv {
		out.PrevKvs = copies(all)
	}
	return out
}

// holds reports whether a condition holds for all keys of its range. One that is not there has the revision 0.
func (e *fakeEtcd) holds(c *pb.Compare) bool {
	all := e.found(c.Key, c.RangeEnd)
	if len(c.RangeEnd) == 0 && len(all) == 0 {
		all = []*mvccpb.KeyValue{{}}
	}
	return !slices.ContainsFunc(all, func(kv *mvccpb.KeyValue) bool {
		has, want := kv.CreateRevision, c.GetCreateRevision()
		if c.Target == pb.Compare_MOD {
			has, want = kv.ModRevision, c.GetModRevision()
		}
		switch c.Result {
		case pb.Compare_EQUAL:
			return has != want
		case pb.Compare_LESS:
			return has >= want
		}
		panic(c.Result)
	})
}

// decide says which branches are taken in a transaction and in those within it, which etcd knows before it changes
// anything. The error is that of the first put that cannot be.
func (e *fakeEtcd) decide(r *pb.TxnRequest, succeeds map[*pb.TxnRequest]bool) error {
	succeeds[r] = !slices.ContainsFunc(r.Compare, func(c *pb.Compare) bool { return !e.holds(c) })
	for _, op := range branch(r, succeeds) {
		if p := op.GetRequestPut(); p != nil && p.Lease != 0 && e.leases[p.Lease] == nil {
			return rpctypes.ErrLeaseNotFound
		} else if p != nil && p.IgnoreLease && e.keys[string(p.Key)] == nil {
			return rpctypes.ErrKeyNotFound
		}
		if x := op.GetRequestTxn(); x != nil {
			if err := e.decide(x, succeeds); err != nil {
				return err
			}
		}
	}
	return nil
}

func branch(r *pb.TxnRequest, succeeds map[*pb.TxnRequest]bool) []*pb.RequestOp {
	if succeeds[r] {
		return r.Success
	}
	return r.Failure
}

func (e *fakeEtcd) apply(r *pb.TxnRequest, succeeds map[*pb.TxnRequest]bool) *pb.TxnResponse {
	out := &pb.TxnResponse{Header: e.header(), Succeeded: succeeds[r]}
	for _, op := range branch(r, succeeds) {
		done := new(pb.ResponseOp)
		switch do := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			done.Response = &pb.ResponseOp_ResponseRange{ResponseRange: e.read(do.RequestRange)}
		case *pb.RequestOp_RequestPut:
			done.Response = &pb.ResponseOp_ResponsePut{ResponsePut: e.put(do.RequestPut)}
		case *pb.RequestOp_RequestDeleteRange:
			done.Response = &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: e.remove(do.RequestDeleteRange)}
		case *pb.RequestOp_RequestTxn:
			done.Response = &pb.ResponseOp_ResponseTxn{ResponseTxn: e.apply(do.RequestTxn, succeeds)}
		}
		out.Responses = append(out.Responses, done)
	}
	return out
}

func (e *fakeEtcd) transact(r *pb.TxnRequest) (out *pb.TxnResponse, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	succeeds := make(map[*pb.TxnRequest]bool)
	if err := e.decide(r, succeeds); err != nil {
		return nil, err
	}
	e.change(func() { out = e.apply(r, succeeds) })
	out.Header = e.header()
	return out, nil
}

func (e *fakeEtcd) grant(ttl int64) *etcd.LeaseGrantResponse {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.granted++
	id, l := e.granted, &fakeLease{ttl: time.Duration(ttl) * time.Second}
	l.until = time.Now().Add(l.ttl)
	l.timer = time.AfterFunc(l.ttl, func() { _ = e.end(id, false) })
	e.leases[id] = l
	return &etcd.LeaseGrantResponse{ResponseHeader: e.header(), ID: etcd.LeaseID(id), TTL: ttl}
}

func (e *fakeEtcd) keepAlive(id int64) (*etcd.LeaseKeepAliveResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.leases[id]
	if l == nil {
		return nil, rpctypes.ErrLeaseNotFound
	}
	l.until = time.Now().Add(l.ttl)
	l.timer.Reset(l.ttl)
	return &etcd.LeaseKeepAliveResponse{
		ResponseHeader: e.header(), ID: etcd.LeaseID(id), TTL: int64(l.ttl / time.Second),
	}, nil
}

// elect has the leader stand still. Another one begins all leases anew.
func (e *fakeEtcd) elect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	ends := make(map[int64]time.Time)
	for id, l := range e.leases {
		ends[id] = l.until
		l.until = time.Now().Add(l.ttl)
		l.timer.Reset(l.ttl)
	}
	e.stopped = append(e.stopped, ends)
	e.term++
}

// goOn has those go on that stand still. Each revokes the leases that nobody has renewed as far as it knows, as etcd does
// (https://github.com/etcd-io/etcd/issues/15247).
func (e *fakeEtcd) goOn() {
	e.mu.Lock()
	stopped := e.stopped
	e.stopped = nil
	e.mu.Unlock()
	for _, ends := range stopped {
		for id, at := range ends {
			if time.Now().After(at) {
				_ = e.end(id, true)
			}
		}
	}
}

// end ends a lease that is revoked or was not renewed in time, and with it its keys.
func (e *fakeEtcd) end(id int64, revoked bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.leases[id]
	if l == nil {
		return rpctypes.ErrLeaseNotFound
	}
	if !revoked && time.Now().Before(l.until) {
		return nil
	}
	l.timer.Stop()
	delete(e.leases, id)
	e.change(func() {
		for _, kv := range e.keys {
			if kv.Lease == id {
				e.remove(&pb.DeleteRangeRequest{Key: kv.Key})
			}
		}
	})
	return nil
}

// since is where in the history a watch begins: at a revision, 0: the next one. The header is that of now.
func (e *fakeEtcd) since(revision int64) (at int, header *pb.ResponseHeader) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if revision == 0 {
		return len(e.history), e.header()
	}
	at, _ = slices.BinarySearchFunc(e.history, revision, func(event *etcd.Event, revision int64) int {
		return cmp.Compare(event.Kv.ModRevision, revision)
	})
	return at, e.header()
}

// events waits for the next events of a watch, from a place in the history on. There are none when ctx is over.
func (e *fakeEtcd) events(ctx context.Context, watch etcd.Op, at int) (events []*etcd.Event, next int) {
	for len(events) == 0 {
		e.mu.Lock()
		news, changed := e.history[at:], e.changed
		e.mu.Unlock()
		at += len(news)
		for _, event := range news {
			hidden := event.Type == mvccpb.Event_PUT && watch.IsFilterPut() ||
				event.Type == mvccpb.Event_DELETE && watch.IsFilterDelete()
			if !hidden && inRange(event.Kv.Key, watch.KeyBytes(), watch.RangeBytes()) {
				events = append(events, event)
			}
		}
		if len(news) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, at
		}
	}
	return events, at
}
