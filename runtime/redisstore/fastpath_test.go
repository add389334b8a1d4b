package redisstore

import (
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/redisscript"
)

// Exclusive locks pay nothing for readers and permits: up to where lib.lua begins, their scripts do what they did
// before.
func TestScripts_exclusiveFastPathIsThatOfBefore(t *testing.T) {
	code := func(text []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		fast, _, _ := strings.Cut(string(text), redisscript.LibMark)
		var lines []string
		for line := range strings.Lines(fast) {
			if !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	for _, name := range []string{"acquire", "release"} {
		is, was := code(luaFiles.ReadFile("lua/"+name+".lua")), code(oldFiles.ReadFile("testdata/old/"+name+".lua"))
		// Of a lock that is not the lease's, release.lua says besides whether it is shared.
		is = strings.Replace(is, "answers[i] = lock and string.sub(lock, 1, 1) == '*' and 3 or 0", "answers[i] = 0", 1)
		if is != was {
			t.Errorf("%s.lua begins with\n%s\nand began with\n%s", name, is, was)
		}
	}
}

// What alive.lua leaves to alive_shared.lua: a dead writer at the head of the queue lets those behind it ask at once,
// and so does a reader that a node of before has left there.
func TestAliveSharedScript_headThatBlocksNobody(t *testing.T) {
	r := newRig(t)
	ask := func(id, proc, kind string) answer {
		t.Helper()
		cmd := r.scripts.acquireShared.Run(r.ctx, r.client, r.keys.all(), rigTTL, rigTTL+rigRetention, rigLiveness,
			waiterOf(proc), anyTime, id, kind)
		r.called("acquire_shared", cmd.Err())
		a, err := parseAnswer(cmd.Val(), r.client.Time(r.ctx).Val())
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	left := func(proc string) int64 {
		t.Helper()
		keys := append(r.keys.alone()[1:3], r.keys.lock, r.keys.holders())
		states, err := r.scripts.aliveShared.Run(r.ctx, r.client, keys, channelOf(proc), rigLiveness).Slice()
		r.called("alive_shared", err)
		n, _ := states[0].(int64)
		return n
	}
	ask("a", "p", "~r")
	ask("w", "q", "")
	ask("b", "s", "~r")
	if n := left("s"); n <= 0 {
		t.Errorf("behind a writer that lives: %d ms, want the rest of the reader's lease", n)
	}
	r.silence("q")
	if n := left("s"); n != 0 {
		t.Errorf("behind a writer that has died: %d ms, want 0", n)
	}
	if a := ask("b", "s", "~r"); !a.granted {
		t.Errorf("the reader behind it asks and hears %+v", a)
	}
	ask("w2", "q", "")
	ask("c", "s", "~r")
	old := oldScripts()
	if err := old.cancel.Run(r.ctx, r.client, r.keys.alone(), "w2", rigRetention).Err(); err != nil {
		t.Fatal(err)
	}
	if n := left("s"); n != 0 {
		t.Errorf("a reader that a node of before has left at the head: %d ms, want 0", n)
	}
}
