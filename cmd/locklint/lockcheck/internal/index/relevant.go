package index

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
)

// This file lets drivers skip packages before they are type-checked. What it says must follow from text alone and err
// on one side only: a package that it calls irrelevant has no findings and no facts, provided that none of its
// dependencies is a carrier (see [Carries]).

// words are what some file of a package with a lock, a directive or an ignore comment says: the path of a client, or
// what stands where another package has imported one. Case does not matter.
var words = withPaths([][]byte{
	[]byte("redis"),           // most clients, and the libraries on top of them
	[]byte("lockgen/lockgen"), // this project's packages
	[]byte("setnx"),           // an interface over a client, or another package's variable
	[]byte("setifnotexist"),
	[]byte("setifabsent("),
	[]byte(`"nx"`),      // another package's variable
	[]byte("newmutex("), // the same
	[]byte(".obtain("),
	[]byte("unlockcontext("), // an interface over a mutex
	[]byte("unlock(ctx context.context"),
	[]byte("unlock(context.context"),
	[]byte("release(ctx context.context"), // the same over a lock that is held, or is named by a key
	[]byte("release(context.context"),
	[]byte("lock(ctx context.context"),
	[]byte("locklint:"), // a comment that silences a check

	[]byte("advisory_lock"), // the locks of databases
	[]byte("advisory_xact_lock"),
	[]byte("get_lock("),
	[]byte("clause.locking"),
})

// rowWords say that a statement locks rows. They look alike in comments, so case matters, or what ends the text.
var rowWords = regexp.MustCompile("FOR UPDATE|FOR NO KEY UPDATE|FOR SHARE|FOR KEY SHARE|LOCK IN SHARE|" +
	"for (?:update|share)(?: skip locked| nowait)?[;\"`]")

// withPaths adds the ends of those import paths of clients that none of some words finds.
func withPaths(list [][]byte) [][]byte {
	for _, p := range clients.Paths() {
		if p = strings.ToLower(p); !containsAny([]byte(p), list) {
			list = append(list, []byte(path.Join(path.Base(path.Dir(p)), path.Base(p))))
		}
	}
	return list
}

// directiveLike finds directives and, generously, what the directive package takes for a misspelt one.
var directiveLike = regexp.MustCompile(`^(s|gen)?( ?:|[ .=][a-z]+=)`)

// exitWords are what a file with a function that never returns says; see MayExit.
var exitWords = [][]byte{[]byte("exit("), []byte("fatal"), []byte(".panic")}

// Relevant reports whether a package can have findings or facts by itself, from the text of its files by name.
func Relevant(module *analysis.Module, files map[string][]byte) bool {
	mine := module != nil && module.Version == ""
	for name, text := range files {
		lower := bytes.ToLower(text)
		if containsAny(lower, words) || mentionsLock(lower) || rowWords.Match(text) ||
			mine && !strings.HasSuffix(name, "_test.go") && containsAny(lower, exitWords) {
			return true
		}
	}
	return false
}

// mentionsLock reports whether a text in lower case has a directive or something like it at the start of a comment.
func mentionsLock(text []byte) bool {
	for {
		i := bytes.Index(text, []byte("lock"))
		if i < 0 {
			return false
		}
		before := bytes.TrimSuffix(text[:i], []byte(" "))
		text = text[i+len("lock"):]
		if n := len(before); n > 0 && bytes.IndexByte([]byte("/*\n"), before[n-1]) >= 0 && directiveLike.Match(text) {
			return true
		}
	}
}

func containsAny(text []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(text, w) {
			return true
		}
	}
	return false
}

// Carries reports whether a fact makes its package a carrier: the packages that import it, even through others, may
// have findings because of it.
func Carries(fact analysis.Fact) bool {
	_, ok := fact.(*program.Carrier)
	return ok
}
