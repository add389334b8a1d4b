package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// maxPages is more pages than any of these lists has.
const maxPages = 1000

var pageTests = map[string]func(*testing.T, *env){
	"foreign_cursors_are_refused": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		pager, ok := s.(lockrt.Pager)
		if !ok {
			t.Skip("this store has no Pager")
		}
		for _, cursor := range []string{"x", "-1", "\x00", "after"} {
			if _, _, err := pager.ListPage(e.ctx, "", cursor, 1); !errors.Is(err, lockrt.ErrCursor) {
				t.Errorf("the cursor %q gives %v, want ErrCursor", cursor, err)
			}
		}
	},

	"all_pages_have_all_locks": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		want := map[string]bool{}
		for i := range 37 {
			key := fmt.Sprintf("order:%d", i)
			want[key] = true
			e.take(s, key, fmt.Sprint("o", i), long)
			e.take(s, fmt.Sprintf("other:%d", i), fmt.Sprint("x", i), long)
		}
		e.take(s, "order*", "star", long)
		seen := e.pages(s, "order:", 5)
		if !maps.Equal(seen, want) {
			t.Errorf("the pages have %v, want %v", slices.Sorted(maps.Keys(seen)), slices.Sorted(maps.Keys(want)))
		}
		if seen := e.pages(s, "none", 5); len(seen) > 0 {
			t.Errorf("the pages of a prefix without locks have %v", seen)
		}
	},

	"a_page_tells_what_List_tells": func(t *testing.T, e *env) {
		s, _ := e.session("node a")
		g := e.take(s, "k", "1", long)
		e.take(s, "l", "2", long)
		e.release(s, "l", "2")
		e.wait(e.ctx, s, lockrt.Request{Key: "k", ID: "3", TTL: long, Wait: long})
		for cursor, more := "", true; more; more = cursor != "" {
			var page []lockrt.LockInfo
			page, cursor = e.page(s, "", cursor, 10)
			for _, info := range page {
				if info.Key != "k" || info.ID != "1" || info.Node != "node a" || info.Fence != lockrt.FenceOf(g.Epoch) ||
					len(info.Waiters) != 1 || info.Waiters[0].ID != "3" {
					t.Errorf("the page has %+v", info)
				}
			}
		}
		e.release(s, "k", "1")
	},

	"a_lock_held_throughout_is_not_missed": func(t *testing.T, e *env) {
		s, _ := e.session("a")
		want := map[string]bool{}
		for i := range 40 {
			e.take(s, fmt.Sprintf("k:%d", i), fmt.Sprint(i), long)
			want[fmt.Sprintf("k:%d", i)] = i%2 == 0
		}
		cursor, freed := "", 1
		for range maxPages {
			page, next := e.page(s, "k:", cursor, 3)
			for _, info := range page {
				delete(want, info.Key)
			}
			if cursor = next; next == "" {
				break
			}
			if freed < 40 {
				e.release(s, fmt.Sprintf("k:%d", freed), fmt.Sprint(freed))
				freed += 2
			}
			e.take(s, fmt.Sprintf("k:new:%s:%d", next, freed), fmt.Sprint("new", next, freed), long)
		}
		for key, throughout := range want {
			if throughout {
				t.Errorf("%s was held all the time and is on no page", key)
			}
		}
	},

	"the_locker_has_pages_of_every_store": func(t *testing.T, e *env) {
		l := e.locker("a")
		for i := range 7 {
			if _, err := l.Acquire(e.ctx, fmt.Sprintf("k:%d", i), lockrt.Options{TTL: long}); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[string]bool{}
		for cursor, more := "", true; more; more = cursor != "" {
			page, next, err := l.ListPage(e.ctx, "k:", cursor, 2)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.IsSortedFunc(page, byKey) {
				t.Errorf("the page is not sorted: %v", page)
			}
			for _, info := range page {
				seen[info.Key] = true
			}
			cursor = next
		}
		if len(seen) != 7 {
			t.Errorf("the pages have %v, want 7 locks", seen)
		}
		if _, _, err := l.ListPage(e.ctx, "", "", 0); err == nil {
			t.Error("a page of no locks is no error")
		}
	},
}

func byKey(a, b lockrt.LockInfo) int { return cmp.Compare(a.Key, b.Key) }

// page returns one page, and skips the test where the store has none.
func (e *env) page(s lockrt.Session, prefix, cursor string, limit int) ([]lockrt.LockInfo, string) {
	e.t.Helper()
	pager, ok := s.(lockrt.Pager)
	if !ok {
		e.t.Skip("this store has no Pager")
	}
	page, next, err := pager.ListPage(e.ctx, prefix, cursor, limit)
	if err != nil {
		e.t.Fatalf("the page of %q at %q: %v", prefix, cursor, err)
	}
	return page, next
}

// pages returns the keys on all pages.
func (e *env) pages(s lockrt.Session, prefix string, limit int) map[string]bool {
	e.t.Helper()
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		page, next := e.page(s, prefix, cursor, limit)
		for _, info := range page {
			seen[info.Key] = true
		}
		if cursor = next; next == "" {
			return seen
		}
	}
	e.t.Fatalf("the list does not end after %d pages", maxPages)
	return nil
}
