package handles

import (
	"go/types"
	"regexp"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// KeyedVerb is what a call of an interface's method does with a lock that it names by a key: VerbLock or VerbRelease, if
// the interface has a method for each and says that it is about locks. Both are given a context and a key, and may fail.
// What implements it need not be in sight.
func KeyedVerb(recv types.Type, m *types.Func) Verb {
	iface, ok := recv.Underlying().(*types.Interface)
	if !ok {
		return VerbOther
	}
	return keyedVerbs(recv, iface)[m.Name()]
}

// keyedVerbs are the methods of an interface that acquire and release by a key, where it has both for the same thing, such
// as LockSeat and UnlockSeat; nil if there are none.
func keyedVerbs(t types.Type, iface *types.Interface) map[string]Verb {
	var acquires, releases map[string][]string // methods by what they lock
	named := typeOfLocks.MatchString(nameOf(t))
	for m := range iface.Methods() {
		acquired, acquire := subjectOf(m.Name(), acquireNames)
		released, release := subjectOf(m.Name(), releaseNames)
		if !acquire && !release || !takesKey(m.Signature()) || !named && !keyedLock.MatchString(m.Name()) {
			continue
		}
		if acquires == nil {
			acquires, releases = map[string][]string{}, map[string][]string{}
		}
		if acquire {
			acquires[acquired] = append(acquires[acquired], m.Name())
		} else {
			releases[released] = append(releases[released], m.Name())
		}
	}
	var verbs map[string]Verb
	for subject, names := range acquires {
		if len(releases[subject]) == 0 {
			continue
		}
		if verbs == nil {
			verbs = map[string]Verb{}
		}
		for _, name := range names {
			verbs[name] = VerbLock
		}
		for _, name := range releases[subject] {
			verbs[name] = VerbRelease
		}
	}
	return verbs
}

// subjectOf is what a method locks or unlocks by its name, "" for whatever it is told.
func subjectOf(name string, verbs []*regexp.Regexp) (subject string, ok bool) {
	for _, verb := range verbs {
		m := verb.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		if len(m) > 1 {
			subject = strings.TrimSuffix(m[1], variant.FindString(m[1]))
		}
		return subject, !forPeople.MatchString(subject)
	}
	return "", false
}

// Names of methods; the group is what is locked.
var (
	acquireNames = []*regexp.Regexp{
		regexp.MustCompile(`^(?:Try)?(?:Acquire|Obtain)$`),
		regexp.MustCompile(`^(?:Acquire|Obtain|Get|Take)(?:Dist|Distributed|Redis)?Lock$`),
		regexp.MustCompile(`^(?:Try)?(?:Acquire|Obtain)([A-Z]\w*?)?Lock$`),
		regexp.MustCompile(`^(?:Try)?Lock([A-Z]\w*)?$`),
	}
	releaseNames = []*regexp.Regexp{
		regexp.MustCompile(`^Release$`),
		regexp.MustCompile(`^(?:Release|Free|Un)(?:Dist|Distributed|Redis)?Lock$`),
		regexp.MustCompile(`^(?:Release|Free)([A-Z]\w*?)?Lock$`),
		regexp.MustCompile(`^Un[Ll]ock([A-Z]\w*)?$`),
	}
	// variant ends names that say in which way something is locked, and not what.
	variant = regexp.MustCompile(`(?:With\w+|Context|Ctx)$`)
	// forPeople marks what is locked for people, not for processes.
	forPeople = regexp.MustCompile(`(?i)user|account|member|wallet|password|login|screen|card`)

	typeOfLocks  = regexp.MustCompile(`(?i)lock|mutex`)
	typeOfLeases = regexp.MustCompile(`(?i)lock|mutex|lease`)
	keyedLock    = regexp.MustCompile(`[Ll]ock`)
	keyedAcquire = regexp.MustCompile(`^(Try)?(Acquire|Obtain|Lock|(Acquire|Obtain|Get|Take)(Dist|Distributed|Redis)?Lock)$`)
)

// takesKey reports whether a function is given a context and a key, and may fail or say that it did nothing.
func takesKey(sig *types.Signature) bool {
	params := sig.Params()
	return params.Len() > 1 && ssax.IsContext(params.At(0).Type()) && ssax.IsString(params.At(1).Type()) && mayFail(sig)
}
