package directive

import (
	"go/token"
	"strings"
	"testing"
)

// defaultsOf reads a file, brings its defaults in, and returns its functions and all problems.
func defaultsOf(t *testing.T, src string) (*Found, []string) {
	t.Helper()
	fset, file := parseSource(t, src)
	found := Find(file)
	place := func(pos token.Pos) string { return fset.Position(pos).String() }
	d, problems := OnePerPackage(found.Defaults, place)
	problems = append(problems, found.Problems...)
	for _, a := range found.Funcs {
		a.Apply(d)
		problems = append(problems, a.Problems...)
	}
	var texts []string
	for _, p := range problems {
		at, end := fset.Position(p.Pos), fset.Position(p.End)
		texts = append(texts, p.Slug+" "+src[at.Offset:end.Offset]+": "+p.Message)
	}
	return found, texts
}

func TestDefaults_applyWhereNothingIsWritten(t *testing.T) {
	const src = `// Package p has defaults.
//
//lock:default ttl=30s,wait=@patience,prefix=shop:{{a}}:,tz=Europe/Berlin,misfire=all,busy=skip
package p

//lock:key=a:{id}
func one(id int) {}

//lock:key={id},ttl=1m,wait=0,busy=error
func two(id int) {}

//lock:key=@Key,cron="@daily"
func three() {}

//lock:key={id?},ttl=1m,cron="@daily",tz=UTC
func four(id int) {}
`
	found, problems := defaultsOf(t, src)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []string{
		"//lock:key=shop:{{a}}:a:{id},ttl=30s,wait=@patience,busy=skip",
		"//lock:key=shop:{{a}}:{id},ttl=1m,wait=0,busy=error",
		`//lock:key=@Key,ttl=30s,wait=@patience,busy=skip,cron="@daily",tz=Europe/Berlin,misfire=all`,
		`//lock:key=shop:{{a}}:{id?},ttl=1m,wait=@patience,busy=skip,cron="@daily",tz=UTC,misfire=all`,
	}
	for i, a := range found.Funcs {
		if got := a.Directive.String(); got != want[i] {
			t.Errorf("%s: %s, want %s", a.Decl.Name.Name, got, want[i])
		}
	}
	if a, b := found.Funcs[0].Directive.Wait, found.Funcs[1].Directive.Wait; a.Const == found.Defaults[0].Options.Wait.Const || b.Const != nil {
		t.Error("Bind would write what it finds into the defaults")
	}
}

func TestDefaults_problems(t *testing.T) {
	for _, c := range []struct{ line, function, want string }{
		{"//lock:default", "", "empty lock:default: the defaults are empty"},
		{"//lock:default,ttl=30s", "", "default ,: a blank parts"},
		{"//lock:default ttl=30", "", "duration 30: "},
		{"//lock:default ttl=30s,ttl=1m", "", "option-repeat ttl=1m: "},
		{"//lock:default tll=30s", "", "option-unknown tll: there is no option \"tll\"; did you mean \"ttl\"?"},
		{"//lock:default prefix=a", ",key=\"\"", "key-empty \"\": the key is empty"},
		{"//lock:default key=a,ttl=30s", "", "default key: key is each function's own"},
		{"//lock:default shared=\"a\"", "", "default shared: "},
		{"//lock:default prefix=a:{id},ttl=30s", "", "default {id}: prefix holds the placeholder"},
		{"//lock:default prefix=\"a b:{id}\",ttl=30s", "", "default {id}: prefix holds the placeholder"},
		{"//lock:default\u00a0ttl=30", "", "duration 30: "},
		{"//lock:default prefix=a:{id", "", "brace "},
		{"//lock:default ttl=@time.Second", "", "default @time.Second: "},
		{"//lock:default maxhold=1m,renew=false", "", "conflict maxhold=1m: maxhold ends renewal"},
		{"//lock:default maxhold=1m", ",renew=false", "conflict lock:key=a,ttl=30s,renew=false: with the package's //lock:default: maxhold"},
		{"//lock:default minhold=1h", ",maxhold=1m", "conflict lock:key=a,ttl=30s,maxhold=1m: with the package's"},
		{"//lock:default busy=skip", ",wait=forever", "conflict lock:key=a"},
		{"//lock:default tz=Nowhere/None", "", "cron Nowhere/None: tz is wrong"},
		{"//lock:default ttl=1s", ",prefix=a", "default prefix: prefix is for all functions of a package"},
		{"/*\n//lock:default ttl=30s\n*/", "", "look-alike //lock:default ttl=30s: "},
		{"/*\n\t//lock:default ttl=30s, an example\n*/", "", ""},
		{"// lock:default ttl=30s", "", "look-alike // lock:default ttl=30s: "},
	} {
		_, problems := defaultsOf(t, "// Package p.\n//\n"+c.line+"\npackage p\n\n//lock:key=a,ttl=30s"+c.function+"\nfunc f() {}\n")
		if c.want == "" && len(problems) == 0 {
			continue
		}
		if len(problems) != 1 || !strings.HasPrefix(problems[0], c.want) {
			t.Errorf("%s and %s: %q, want %s", c.line, c.function, problems, c.want)
		}
	}
}

func TestDefaults_standAboveThePackageClause(t *testing.T) {
	for src, want := range map[string]string{
		"//lock:default ttl=1s\n\npackage p\n":                       "a package's doc comment, it stands alone",
		"package p\n\n//lock:default ttl=1s\nfunc f() {}\n":          "above function f",
		"package p\n\n//lock:default ttl=1s\ntype t int\n":           "above a declaration of a type",
		"//lock:default ttl=1s\n//lock:default wait=1s\npackage p\n": "the package has its defaults at x.go:1:3",
	} {
		_, problems := defaultsOf(t, src)
		if len(problems) != 1 || !strings.HasPrefix(problems[0], "default ") || !strings.Contains(problems[0], strings.TrimPrefix(want, "a ")) {
			t.Errorf("%q: %q, want %q", src, problems, want)
		}
	}
}
