package zkstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
)

// ZooKeeper numbers the children of a node with 32 bits. At the end of that the numbers repeat, or begin anew below
// zero, and say nothing of the order any more. Locks go on in order, with fences that grow.
func TestStore_sequenceWraps(t *testing.T) {
	e := testenv.ZooKeeper(t)
	cfg := config(dying)
	locks := newLocker(t, e.Addrs(), cfg, "a", lockrt.Config{})
	first := acquire(t, locks, "k", lockrt.Options{TTL: long})
	release(t, first)
	if err := locks.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	lock := root(t) + "/l/k"
	countTo(t, e.Servers[0], lock, math.MaxInt32-5)
	conn := client(t, e.Addrs())

	a, b := newLocker(t, e.Addrs(), cfg, "a", lockrt.Config{}), newLocker(t, e.Addrs(), cfg, "b", lockrt.Config{})
	last := acquire(t, a, "k", lockrt.Options{TTL: long})
	if last.Fence() <= first.Fence() {
		t.Errorf("fence %d after %d", last.Fence(), first.Fence())
	}
	numbers := make(map[string]bool)
	for i := range 12 {
		// Two wait, in this order.
		one := waits(t, []*lockrt.Locker{b, a}[i%2], "k")
		names, _, err := conn.Children(lock)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			numbers[name[bytes.LastIndexByte([]byte(name), '~'):]] = true
		}
		release(t, last)
		next := <-one
		if next.Fence() <= last.Fence() {
			t.Errorf("fence %d after %d", next.Fence(), last.Fence())
		}
		last = next
	}
	if len(numbers) > 10 {
		t.Errorf("the numbers are %v: they did not come to their end", numbers)
	}
	// Several wait: they are served in the order in which they came.
	var order []string
	var waiting []<-chan *lockrt.Lease
	for i := range 4 {
		name := fmt.Sprint("waiter ", i)
		order = append(order, name)
		waiting = append(waiting, waits(t, newLocker(t, e.Addrs(), cfg, name, lockrt.Config{}), "k"))
	}
	for i, w := range waiters(t, a, "k") {
		if w.Node != order[i] {
			t.Errorf("waiter %d is %q, want %q", i, w.Node, order[i])
		}
	}
	for i, done := range waiting {
		release(t, last)
		if last = <-done; last == nil {
			t.Fatalf("%s got nothing", order[i])
		}
	}
	release(t, last)
}

// countTo lets a server believe that a node had so many children, by a change of what it has on its disk.
func countTo(t *testing.T, s *testenv.ZooKeeperServer, path string, n int32) {
	t.Helper()
	s.Kill()
	if err := s.Restart(); err != nil { // it begins with a new file of all its data
		t.Fatal(err)
	}
	s.Kill()
	files, err := filepath.Glob(filepath.Join(s.Data(), "version-2", "snapshot.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the server has no snapshot: %v", err)
	}
	logs, _ := filepath.Glob(filepath.Join(s.Data(), "version-2", "log.*"))
	for _, old := range append(files[:len(files)-1:len(files)-1], logs...) {
		if err := os.Remove(old); err != nil {
			t.Fatal(err)
		}
	}
	file := files[len(files)-1]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// A node is its path, its data, its ACL (8 bytes), czxid, mzxid, ctime, mtime (8 each), version (4), and then how
	// many children it had (4).
	name := append(binary.BigEndian.AppendUint32(nil, uint32(len(path))), path...)
	at := bytes.Index(text, name)
	if at < 0 {
		t.Fatalf("the snapshot has no node %s", path)
	}
	at += len(name)
	if size := int32(binary.BigEndian.Uint32(text[at:])); size > 0 {
		at += int(size)
	}
	at += 4 + 8 + 4*8 + 4
	binary.BigEndian.PutUint32(text[at:], uint32(n))
	// Two sums follow, each with a "/": of all nodes, and of what says how far they go.
	seal := []byte{0, 0, 0, 1, '/'}
	end := len(text) - len(seal) - 8
	digest := 8 + 4 + 8
	if first := end - digest - len(seal) - 8; bytes.Equal(text[first+8:first+8+len(seal)], seal) {
		binary.BigEndian.PutUint64(text[first:], uint64(adler32.Checksum(text[:first])))
	}
	binary.BigEndian.PutUint64(text[end:], uint64(adler32.Checksum(text[:end])))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	conn := client(t, []string{s.Addr()})
	made, err := conn.Create(path+"/count~", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if err != nil || made != fmt.Sprintf("%s/count~%010d", path, n) {
		t.Fatalf("the next child is %q, %v", made, err)
	}
	if err := conn.Delete(made, -1); err != nil {
		t.Fatal(err)
	}
}
