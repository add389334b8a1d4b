package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestSplit_sameTermsUpToTheSize(t *testing.T) {
	var batch []*item
	for i := range 10 {
		batch = append(batch, &item{id: fmt.Sprint(i), terms: terms{ttl: int64(i % 2)}})
	}
	var got []string
	for _, part := range split(batch, 3) {
		text := ""
		for _, e := range part {
			text += e.id
		}
		got = append(got, text)
	}
	if want := "024 135 68 79"; strings.Join(got, " ") != want {
		t.Errorf("the parts are %q, want %q", got, want)
	}
	if parts := split(batch, 1); len(parts) != len(batch) {
		t.Errorf("%d parts of one, want %d", len(parts), len(batch))
	}
}

// together sends a batch without waiting for lanes.
func (c *combiner) togetherNow(t *testing.T, ids ...string) []*item {
	t.Helper()
	var batch []*item
	for _, id := range ids {
		batch = append(batch, &item{id: id, terms: terms{ttl: 1}})
	}
	c.together(t.Context(), batch)
	return batch
}

// What one lock's keys have in them must not be the others' misfortune.
func TestCombiner_failureOfOneIsNotThatOfAll(t *testing.T) {
	c, _ := newCombiner(t)
	for _, e := range c.togetherNow(t, "before", "poison", "after") {
		switch {
		case e.id == "poison" && (e.err == nil || !strings.HasPrefix(e.err.Error(), "WRONGTYPE")):
			t.Errorf("the poisoned one's error is %v", e.err)
		case e.id != "poison" && (e.err != nil || e.answer != "1 "+e.id):
			t.Errorf("%s: %v, %v", e.id, e.answer, e.err)
		}
		if !e.unsure {
			t.Errorf("%s may have been served by the call that failed, and does not know", e.id)
		}
	}
}

func TestCombiner_serverForgetsItsScript(t *testing.T) {
	c, _ := newCombiner(t)
	if err := c.client.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.togetherNow(t, "a", "b") {
		if e.err != nil || e.answer != "1 "+e.id {
			t.Errorf("%s: %v, %v", e.id, e.answer, e.err)
		}
	}
}

// A lease that was released by a call which failed at another's keys is released, not lost.
func TestSession_releaseBesideAForeignKey(t *testing.T) {
	r := newRig(t)
	s, _ := r.newSession(Config{})
	var batch []*item
	for _, name := range []string{"mine", "foreign"} {
		keys := s.space.keys(name)
		if _, err := s.Acquire(r.ctx, lockrt.Request{Key: name, ID: name, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		batch = append(batch, &item{keys: keys, id: name})
	}
	if err := r.client.Del(r.ctx, batch[1].keys.lock).Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.client.HSet(r.ctx, batch[1].keys.lock, "another", "program").Err(); err != nil {
		t.Fatal(err)
	}
	s.stripes[0].releases.together(r.ctx, batch)
	if batch[0].err != nil || !batch[0].unsure {
		t.Errorf("the release of mine: %v, unsure %v; want an answer that may be the second", batch[0].err, batch[0].unsure)
	}
	if batch[1].err == nil {
		t.Error("the release of a key that another program has overwritten succeeded")
	}
	if n := r.client.Exists(r.ctx, batch[0].keys.lock).Val(); n != 0 {
		t.Error("the lock is still there")
	}
}
