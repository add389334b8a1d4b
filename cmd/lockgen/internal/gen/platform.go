package gen

import (
	"go/build"
	"go/build/constraint"
	"slices"
	"strings"

	"github.com/lockgen/lockgen/cmd/internal/constraints"
)

// A platform is a build configuration that files are loaded for.
type platform struct {
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

func platforms(list string) []platform {
	var all []platform
	for name := range strings.FieldsSeq(list) {
		goos, goarch, _ := strings.Cut(name, "/")
		all = append(all, platform{goos: goos, goarch: goarch})
	}
	return all
}

// platformFor finds a platform that builds files under a constraint: home if it does, else the foreign one and the
// fewest tags that do.
func platformFor(expr constraint.Expr, home platform) (platform, bool) {
	if expr == nil {
		return home, true
	}
	for _, extra := range subsets(customTags(expr)) {
		for _, p := range append([]platform{home}, foreign...) {
			p.tags = joinTags(home.tags, extra)
			for _, cgo := range []bool{home.cgo && p.goos == home.goos && p.goarch == home.goarch, true, false} {
				p.cgo = cgo
				if expr.Eval(p.has) {
					return p, true
				}
			}
		}
	}
	return platform{}, false
}

// has tells whether a build tag holds.
func (p platform) has(tag string) bool {
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
	}
	return slices.Contains(strings.Split(p.tags, ","), tag)
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
				t != "ignore" && !isRelease(t) {
				tags = append(tags, t)
			}
		}
	}
	walk(expr)
	slices.Sort(tags)
	return slices.Compact(tags)
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
