package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/testenv"
	"github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/redisstore"
)

// TestStore_bounded runs a job 10,000 times, with a retry for every tenth and a wish to cancel for every
// hundredth: what is kept of it is the latest records, and no more.
func TestStore_bounded(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	s := redisstore.New(client, "lock")
	view, err := s.Register(ctx, jobs.Registration{Session: "s", Offers: []jobs.Offer{{Definition: jobs.Definition{Job: "j"}}}})
	if err != nil {
		t.Fatal(err)
	}
	cursor, keep := view.Jobs[0].Cursor, 50
	const batch = 200
	for first := 0; first < 10_000; first += batch {
		var claims []jobs.Claim
		var starts []jobs.Start
		var finishes []jobs.Finish
		for i := first; i < first+batch; i++ {
			run := func(attempt int) jobs.Run {
				return jobs.Run{ID: fmt.Sprint("j@o.", i, ".", attempt), Job: "j", Tick: cursor.Add(time.Microsecond),
					Attempt: attempt}
			}
			r := run(1)
			claims = append(claims, jobs.Claim{
				Job: "j", Prev: cursor, Tick: r.Tick, Due: view.Now, Lease: time.Minute, Keep: keep, Missed: 1,
				InFlight: &jobs.InFlight{Owner: "o", Run: r}, Skipped: &jobs.Run{ID: r.ID + "s", Job: "j", Outcome: jobs.OutcomeSkipped},
			})
			cursor = r.Tick
			starts = append(starts, jobs.Start{Run: r, Owner: "o", Lease: time.Minute})
			f := jobs.Finish{Run: r, Owner: "o", Lease: time.Minute, Keep: keep}
			f.Run.Outcome = jobs.OutcomeError
			if i%10 == 0 {
				f.Next = &jobs.InFlight{Owner: "o", Run: run(2)}
				last := jobs.Finish{Run: run(2), Owner: "o", Lease: time.Minute, Keep: keep}
				last.Run.Outcome = jobs.OutcomeOK
				finishes = append(finishes, f, last)
				continue
			}
			finishes = append(finishes, f)
		}
		for _, c := range s.Claim(ctx, claims) {
			if c.Err != nil || c.Status != jobs.ClaimWon {
				t.Fatal(c)
			}
		}
		if err := errors.Join(s.Start(ctx, starts)...); err != nil {
			t.Fatal(err)
		}
		for i := 5; i < len(starts); i += 100 { // without a retry
			if err := s.Cancel(ctx, jobs.Notice{Job: "j", ID: starts[i].Run.ID, At: cursor}); err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range s.Finish(ctx, finishes) {
			var cancelled *jobs.CancelledError
			if err != nil && !errors.As(err, &cancelled) {
				t.Fatal(err)
			}
		}
	}
	// The cursor, and that it was made up, when it was registered, as what, the epoch, how many ticks it missed, the
	// session's lease, the records, and the failures among them; for lists its name, what a search looks into, when it
	// was recorded last, that it fails and that it missed ticks, and how many all have missed.
	if keys, entries := contents(t, client); keys != 15 || entries != 13+keep+jobs.KeptFailures {
		t.Errorf("%d keys with %d entries, want 15 with %d", keys, entries, 13+keep+jobs.KeptFailures)
	}
}

// contents counts the keys of a server and what is in them.
func contents(t *testing.T, client *redis.Client) (keys, entries int) {
	t.Helper()
	ctx := context.Background()
	all, err := client.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range all {
		var n int64
		switch kind := client.Type(ctx, key).Val(); kind {
		case "hash":
			n = client.HLen(ctx, key).Val()
		case "zset":
			n = client.ZCard(ctx, key).Val()
		case "list":
			n = client.LLen(ctx, key).Val()
		default:
			t.Fatalf("key %s is a %s", key, kind)
		}
		entries += int(n)
	}
	return len(all), entries
}

// TestStore_expiry checks that everything about jobs that nobody adds any more is forgotten some day.
func TestStore_expiry(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	s := redisstore.New(client, "lock")
	view, err := s.Register(ctx, jobs.Registration{Session: "s", Offers: []jobs.Offer{{Definition: jobs.Definition{Job: "j"}}}})
	if err != nil {
		t.Fatal(err)
	}
	cursor := view.Jobs[0].Cursor
	c := jobs.Claim{
		Job: "j", Prev: cursor, Tick: cursor.Add(time.Microsecond), Due: cursor, Lease: time.Minute, Keep: 3, Missed: 1,
		InFlight: &jobs.InFlight{Owner: "o1", Run: jobs.Run{ID: "j@o1.1", Job: "j"}}, Skipped: &jobs.Run{ID: "j@o1.2", Job: "j"},
	}
	if got := s.Claim(ctx, []jobs.Claim{c})[0]; got.Status != jobs.ClaimWon {
		t.Fatal(got)
	}
	if _, err := s.Pause(ctx, "j", jobs.Pause{Author: "ada", At: cursor}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, jobs.OneOff{ID: "x", Handler: "h", At: cursor.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if errs := s.Start(ctx, []jobs.Start{{Run: c.InFlight.Run, Owner: "o1", Lease: time.Minute}}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	if err := s.Cancel(ctx, jobs.Notice{Job: "j", ID: "j@o1.1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heartbeat(ctx, jobs.Heartbeat{Session: "o1", Lease: time.Minute}); err != nil {
		t.Fatal(err)
	}
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil || len(keys) != 39 {
		t.Fatalf("keys %q, %v; want 39, one for everything that is kept", keys, err)
	}
	for _, key := range keys {
		if ttl := client.PTTL(ctx, key).Val(); ttl <= 0 || ttl > jobs.JobRetention {
			t.Errorf("%s expires in %s, want within %s", key, ttl, jobs.JobRetention)
		}
	}
}

// TestStore_loss tells a flush of all, of one shard, and a restored copy from what a session knows.
func TestStore_loss(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	s := redisstore.New(client, "lock")
	stamp := ""
	heartbeat := func(doing string, lost bool) {
		t.Helper()
		p, err := s.Heartbeat(ctx, jobs.Heartbeat{Session: "o1", Lease: time.Minute, Stamp: stamp})
		if err != nil || p.Lost != lost {
			t.Fatalf("%s: lost %t, %v; want %t", doing, p.Lost, err, lost)
		}
		stamp = p.Stamp
	}
	heartbeat("first", false)
	heartbeat("second", false)
	if err := client.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	heartbeat("after a flush", true)
	heartbeat("after that", false)
	if err := client.Del(ctx, "lock:jobs:{lock:5}:stamp").Err(); err != nil {
		t.Fatal(err)
	}
	heartbeat("after the loss of a shard", true)
	old := client.Dump(ctx, "lock:jobs:{lock:6}:stamp").Val()
	heartbeat("before the copy is restored", false)
	if err := client.RestoreReplace(ctx, "lock:jobs:{lock:6}:stamp", 0, old).Err(); err != nil {
		t.Fatal(err)
	}
	heartbeat("after the copy was restored", true)
	// The server's clock is set back, so that the heartbeat of the stamp seems to be later than one whose answer is lost.
	if err := client.HSet(ctx, "lock:jobs:{lock:6}:stamp", "at:o1", 1).Err(); err != nil {
		t.Fatal(err)
	}
	heartbeat("after the clock was set back", false)
	// Others have forgotten the session of a node that was stopped for more than a day.
	for shard := range strings.Count(stamp, ",") + 1 {
		if err := client.HDel(ctx, fmt.Sprintf("lock:jobs:{lock:%d}:stamp", shard), "at:o1", "n:o1").Err(); err != nil {
			t.Fatal(err)
		}
	}
	fresh := stamp
	stamp = regexp.MustCompile(` (\d{16}) `).ReplaceAllStringFunc(stamp, func(at string) string {
		n, err := strconv.ParseInt(strings.TrimSpace(at), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(" ", n-(25*time.Hour).Microseconds(), " ")
	})
	if stamp == fresh {
		t.Fatalf("the stamp %q has no times", stamp)
	}
	heartbeat("after a day of silence", false)
	stamp = fresh
	heartbeat("after less", true)
}

// TestStore_listMany walks through a search, there and back, that has to look at more names of one shard than a
// script does.
func TestStore_listMany(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()
	ctx := context.Background()
	s := redisstore.New(client, "lock")
	var r jobs.Registration
	var all []string // that are searched for
	for i, crowded := 0, 0; crowded < 2500; i++ {
		name := fmt.Sprintf("job-%06d", i)
		if redisstore.KeyOf(s, name) == redisstore.KeyOf(s, "job-000000") {
			crowded++
		} else if i%50 > 0 {
			continue
		}
		r.Offers = append(r.Offers, jobs.Offer{Definition: jobs.Definition{Job: name}})
		if strings.Contains(name, "7") && strings.Contains(name, "3") {
			all = append(all, name)
		}
	}
	if _, err := s.Register(ctx, r); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 7, 300, 5000} {
		for _, back := range []bool{false, true} {
			q := jobs.ListQuery{Search: []string{"7", "3"}, Back: back, Limit: limit}
			left := all
			if limit == 1 {
				q.From = map[bool]string{true: all[10], false: all[len(all)-10]}[back]
				left = map[bool][]string{true: all[:10], false: all[len(all)-9:]}[back]
			}
			for more := true; more; {
				page, err := s.List(ctx, q)
				n := min(limit, len(left))
				want, rest := left[:n], left[n:]
				if back {
					rest, want = left[:len(left)-n], left[len(left)-n:]
				}
				left = rest
				if more = page.More; err != nil || !slices.Equal(page.Jobs, want) || more != (len(left) > 0) {
					t.Fatalf("List of %+v = %+v, %v; want %q, and %d others", q, page, err, want, len(left))
				}
				if q.From = want[0]; !back {
					q.From = want[n-1]
				}
			}
		}
	}
}
