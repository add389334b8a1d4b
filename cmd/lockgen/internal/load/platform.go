package load

import (
	"go/build"
	"go/build/constraint"
	"os"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
)

// A Platform is a build configuration that files are loaded for.
type Platform struct {
	goos, goarch string
	cgo          bool
	tags         string // comma separated, sorted
}

// unixOS are the systems for which the tag unix holds.
var unixOS = []string{"aix", "android", "darwin", "dragonfly", "freebsd", "hurd", "illumos", "ios", "linux", "netbsd",
	"openbsd", "solaris"}

// foreign are platforms to try for files that the user's own leaves out: all that Go has, the most common first.
var foreign = platforms("linux/amd64 darwin/arm64 windows/amd64 linux/arm64 freebsd/amd64 js/wasm openbsd/amd64 netbsd/amd64 " +
	"dragonfly/amd64 solaris/amd64 illumos/amd64 aix/ppc64 plan9/amd64 android/arm64 ios/arm64 wasip1/wasm linux/386 linux/arm " +
	"linux/loong64 linux/mips linux/mipsle linux/mips64 linux/mips64le linux/ppc64 linux/ppc64le linux/riscv64 linux/s390x " +
	"windows/386 windows/arm64 darwin/amd64 android/386 android/amd64 android/arm freebsd/386 freebsd/arm freebsd/arm64 " +
	"freebsd/riscv64 ios/amd64 netbsd/386 netbsd/arm netbsd/arm64 openbsd/386 openbsd/arm openbsd/arm64 openbsd/ppc64 " +
	"openbsd/riscv64 plan9/386 plan9/arm")

func platforms(list string) []Platform {
	var all []Platform
	for name := range strings.FieldsSeq(list) {
		goos, goarch, _ := strings.Cut(name, "/")
		all = append(all, Platform{goos: goos, goarch: goarch})
	}
	return all
}

// platformFor finds a platform that builds files under a constraint: home if it does, else the foreign one and the
// fewest tags that do.
func platformFor(expr constraint.Expr, home Platform) (Platform, bool) {
	if expr == nil {
		return home, true
	}
	for _, extra := range subsets(customTags(expr)) {
		for _, p := range append([]Platform{home}, foreign...) {
			p.tags = joinTags(home.tags, extra)
			for _, cgo := range []bool{home.cgo && p.goos == home.goos && p.goarch == home.goarch, true, false} {
				p.cgo = cgo
				if expr.Eval(p.has) {
					return p, true
				}
			}
		}
	}
	return Platform{}, false
}

// has tells whether a build tag holds.
func (p Platform) has(tag string) bool {
	switch {
	case tag == p.goos, tag == p.goarch, tag == "gc":
		return true
	case tag == "unix":
		return slices.Contains(unixOS, p.goos)
	case tag == "cgo":
		return p.cgo
	case tag == "linux" && p.goos == "android", tag == "solaris" && p.goos == "illumos",
		tag == "darwin" && p.goos == "ios":
		return true
	case isRelease(tag):
		return slices.Contains(build.Default.ReleaseTags, tag)
	case usual(tag):
		return true
	}
	return slices.Contains(strings.Split(p.tags, ","), experiment(tag))
}

// customTags are the tags of a constraint that a user could pass with -tags. ignore is left out: by convention it says
// that a file belongs to no build at all.
func customTags(expr constraint.Expr) []string {
	var tags []string
	var walk func(constraint.Expr)
	walk = func(x constraint.Expr) {
		switch x := x.(type) {
		case *constraint.AndExpr:
			walk(x.X)
			walk(x.Y)
		case *constraint.OrExpr:
			walk(x.X)
			walk(x.Y)
		case *constraint.NotExpr:
			walk(x.X)
		case *constraint.TagExpr:
			if t := x.Tag; !constraints.Known(t) && t != "unix" && t != "cgo" && t != "gc" && t != "gccgo" &&
				t != "ignore" && !isRelease(t) && !usual(t) {
				tags = append(tags, experiment(t))
			}
		}
	}
	walk(expr)
	slices.Sort(tags)
	return slices.Compact(tags)
}

// experiment is the tag that an old name of an experiment stands for: the go command does not take the old one as its own.
func experiment(tag string) string {
	if tag == "boringcrypto" {
		return "goexperiment.boringcrypto"
	}
	return tag
}

// usual tells whether a tag is one of an experiment that is on where nothing is said.
func usual(tag string) bool { return slices.Contains(build.Default.ToolTags, tag) }

// ownBuilds tells whether a constraint is about something that lockgen always takes as it is usual: the compiler, and the
// experiments that are on.
func ownBuilds(expr constraint.Expr) bool {
	found := false
	expr.Eval(func(tag string) bool {
		found = found || tag == "gccgo" || tag == "gc" || usual(tag)
		return true
	})
	return found
}

func isRelease(tag string) bool { return strings.HasPrefix(tag, "go1.") }

// subsets are the subsets of tags, the small ones first. More than eight tags in one constraint are not worth a search.
func subsets(tags []string) [][]string {
	if len(tags) > 8 {
		return [][]string{nil, tags}
	}
	var all [][]string
	for bits := range 1 << len(tags) {
		var subset []string
		for i, tag := range tags {
			if bits&(1<<i) != 0 {
				subset = append(subset, tag)
			}
		}
		all = append(all, subset)
	}
	slices.SortStableFunc(all, func(a, b []string) int { return len(a) - len(b) })
	return all
}

// joinTags adds tags to a list as -tags takes it.
func joinTags(list string, extra []string) string {
	tags := append(strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }), extra...)
	slices.Sort(tags)
	return strings.Join(slices.Compact(tags), ",")
}

// HomePlatform is what the go command builds for by default.
func HomePlatform(cfg Config) Platform {
	b := build.Default
	tags := cfg.Tags
	if tags == "" {
		for flag := range strings.FieldsSeq(os.Getenv("GOFLAGS")) {
			if value, ok := strings.CutPrefix(strings.TrimPrefix(flag, "-"), "-tags="); ok {
				tags = value
			} else if value, ok := strings.CutPrefix(flag, "-tags="); ok {
				tags = value
			}
		}
	}
	return Platform{goos: b.GOOS, goarch: b.GOARCH, cgo: b.CgoEnabled, tags: joinTags(tags, nil)}
}
