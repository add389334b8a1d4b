package gen

import (
	"go/build"
	"go/build/constraint"
	"slices"
	"strings"
)

// A platform is a build configuration that files are loaded for.
type platform struct {
	goos, goarch string
	cgo          bool
	tags         string // comma separated, sorted
}

// knownOS, knownArch: the names that the go command reads from a file name.
var knownOS = set1("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris " +
	"wasip1 windows zos")
var knownArch = set1("386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 " +
	"mips64p32le " +
	"ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm")

// unixOS are the systems for which the tag unix holds.
var unixOS = set1("aix android darwin dragonfly freebsd hurd illumos ios linux netbsd openbsd solaris")

func set1(words string) map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}

// foreign are platforms to try for files that the user's own leaves out, the most common first. The last ones are there
// for constraints such as !unix or an architecture that only one system has.
var foreign = []platform{
	{goos: "linux", goarch: "amd64"}, {goos: "darwin", goarch: "arm64"}, {goos: "windows", goarch: "amd64"},
	{goos: "linux", goarch: "arm64"}, {goos: "freebsd", goarch: "amd64"}, {goos: "js", goarch: "wasm"},
	{goos: "openbsd", goarch: "amd64"}, {goos: "netbsd", goarch: "amd64"}, {goos: "dragonfly", goarch: "amd64"},
	{goos: "solaris", goarch: "amd64"}, {goos: "illumos", goarch: "amd64"}, {goos: "aix", goarch: "ppc64"},
	{goos: "plan9", goarch: "amd64"}, {goos: "android", goarch: "arm64"}, {goos: "ios", goarch: "arm64"},
	{goos: "wasip1", goarch: "wasm"}, {goos: "linux", goarch: "386"}, {goos: "linux", goarch: "arm"},
	{goos: "linux", goarch: "loong64"}, {goos: "linux", goarch: "mips"}, {goos: "linux", goarch: "mipsle"},
	{goos: "linux", goarch: "mips64"}, {goos: "linux", goarch: "mips64le"}, {goos: "linux", goarch: "ppc64"},
	{goos: "linux", goarch: "ppc64le"}, {goos: "linux", goarch: "riscv64"}, {goos: "linux", goarch: "s390x"},
	{goos: "windows", goarch: "386"}, {goos: "windows", goarch: "arm64"}, {goos: "darwin", goarch: "amd64"},
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
		return unixOS[p.goos]
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
			if t := x.Tag; !knownOS[t] && !knownArch[t] && t != "unix" && t != "cgo" && t != "gc" && t != "gccgo" &&
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
