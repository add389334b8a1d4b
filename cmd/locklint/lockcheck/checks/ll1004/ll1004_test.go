package ll1004

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testmodule"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// jobSource has every option. The mutations below change one at a time behind lockgen's back.
const jobSource = `package app

import (
	"context"
	"database/sql"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

const (
	ttlOne, ttlTwo   = 30 * time.Second, 40 * time.Second
	nameOne, nameTwo = "text-one", "text-two"
	tries, others    = 3, 4
	specOne, specTwo = "0 3 * * *", "0 4 * * *"
)

type user struct{ ID, Other int64; Name string }

type shop struct { locks *lockrt.Locker; user *user }

type till struct { locks, spare *lockrt.Locker }

type box[T any] struct{ locks *lockrt.Locker }

// placeLocked places.
//
//lock:key=order:{id}:{name|lower},ttl=30s,wait=5s,maxhold=10m,minhold=1s,renew=true,locker=s.locks
func (s *till) placeLocked(ctx context.Context, id int64, name string) (int, error) { return 0, nil }

type bank struct{ locks *lockrt.Locker; db, other *sql.DB }

//lock:key=pay:{id},ttl=30s,tx=b.db
func (b *bank) payLocked(ctx context.Context, tx *sql.Tx, id int64, fence lockrt.Fence) error { return nil }

//lock:key=plain,ttl=1h
func plain() {}

//lock:key=@nameOne,ttl=@ttlOne,busy=skip,reentrant,func=constant
func constantLocked(ctx context.Context, fence lockrt.Fence) (int, error) { return 0, nil }

//lock:key=a:{a},ttl=30s
//lock:key=b:{b}
func pairLocked(ctx context.Context, a, b string, x, y lockrt.Fence, rest ...int) error { return nil }

//lock:key=behind:{s.user.ID},ttl=30s
func (s *shop) behindLocked(ctx context.Context) {}

//lock:key=generic:{id},ttl=30s
func (b *box[T]) genericLocked(ctx context.Context, id string, value T) (T, error) { return value, nil }

//lock:key=job:{s.user.ID},ttl=2m,cron="0 3 * * *",tz=UTC,job=nightly,misfire=once,overlap=skip,timeout=10m,retries=3,jitter=10s
func (s *shop) nightlyLocked(ctx context.Context) error { return nil }

//lock:key=weekly,ttl=2m,cron=@specOne,retries=@tries
func (s *shop) weeklyLocked(ctx context.Context, lease *lockrt.Lease) error { return nil }

//lock:key=both:{s.user.Name},ttl=2m,cron=@specOne
//lock:key=fixed:{n}
func (s shop) bothLocked(ctx context.Context, n int, x, y lockrt.Fence) error { return nil }

//lock:key=of:{region},ttl=2m,cron=@specOne
func regionLocked(ctx context.Context, region string) error { return nil }
`

// mutations are changes of jobSource, and what LL1004 says of them.
var mutations = []struct{ from, to, want string }{
	{"{name|lower},ttl=30s", "{name|lower},ttl=20s", "ttl is 20s in the directive, 30s in lock_gen.go"},
	{"ttl=30s,wait=5s", "ttl=@ttlOne,wait=5s", "ttl is @ttlOne in the directive, 30s in lock_gen.go"},
	{"wait=5s", "wait=6s", "wait is 6s in the directive, 5s in"},
	{"wait=5s", "wait=forever", "wait is forever in the directive, 5s in"},
	{"wait=5s", "wait=0", "wait is 0 in the directive, 5s in"},
	{",wait=5s", "", "wait is 0 in the directive, 5s in"},
	{"maxhold=10m", "maxhold=1h", "maxhold is 1h in the directive, 10m in"},
	{",maxhold=10m", "", "maxhold is missing in the directive, 10m in"},
	{"minhold=1s", "minhold=2s", "minhold is 2s in the directive, 1s in"},
	{"maxhold=10m,minhold=1s,renew=true", "renew=false", "renew is false in the directive, true in"},
	{"locker=s.locks", "locker=s.spare", "locker is s.spare in the directive, s.locks in"},
	{"tx=b.db", "tx=b.other", "tx is b.other in the directive, b.db in"},
	{",tx=b.db", "", "tx is missing in the directive, b.db in"},
	{"tx *sql.Tx, id int64, fence lockrt.Fence", "id int64, tx *sql.Tx, fence lockrt.Fence", "payLocked is now func("},
	{"order:{id}:", "orders:{id}:", "the key is orders:{id}:{name|lower} in the directive, order:{id}:{name|lower} in"},
	{"{name|lower}", "{name}", "the key is order:{id}:{name} in"},
	{"{name|lower}", "{name?}", "the key is order:{id}:{name?} in"},
	{"{name|lower}", "{name|hash}", "the key is order:{id}:{name|hash} in"},
	{"{id}:{name|lower}", "{id}", "the key is order:{id} in"},
	{"id int64, name string) (int, error) { return 0, nil }", "id string, name string) (int, error) { return 0, nil }",
		"placeLocked is now func(ctx context.Context, id string, name string) (int, error), in lock_gen.go its wrapper is " +
			"func(ctx context.Context, id int64, name string) (int, error)"},
	{"id int64, name string)", "name string, id int64)", "placeLocked is now func(ctx context.Context, name string, " +
		"id int64) (int, error), in lock_gen.go its wrapper is func(ctx context.Context, id int64, name string) (int, error)"},
	{"name string) (int, error)", "name string, more ...int) (int, error)", "placeLocked is now func("},
	{"name string) (int, error) { return 0, nil }", "name string) (string, error) { return \"\", nil }",
		"placeLocked is now func("},
	{") placeLocked", ") putLocked", "generated code is missing: putLocked has no wrapper put"},
	{"key=plain,", "key=simple,", "the key is simple in the directive, plain in"},
	{"key=plain,ttl=1h", "key=plain,ttl=61m", "ttl is 1h1m in the directive, 1h in"},
	{"func plain() {}", "func plain() error { return nil }", "plain is now func() error, in lock_gen.go its wrapper is func(ctx " +
		"context.Context, locks *lockrt.Locker) error"},
	{"func plain() {}", "func plain(ctx context.Context) {}", "plain is now func(ctx context.Context), in"},
	{"key=@nameOne", "key=@nameTwo", "the key is @nameTwo in the directive, @nameOne in"},
	{"key=@nameOne", "key=text-one", "the key is text-one in the directive, @nameOne in"},
	{"ttl=@ttlOne", "ttl=@ttlTwo", "ttl is @ttlTwo in the directive, @ttlOne in"},
	{"ttl=@ttlOne", "ttl=30s", "ttl is 30s in the directive, @ttlOne in"},
	{",busy=skip", "", "busy is error in the directive, skip in"},
	{"key=plain,", "key=plain,busy=skip,", "busy is skip in the directive, error in"},
	{"reentrant,", "", "reentrant is false in the directive, true in"},
	{"func=constant", "func=fixed", "func is fixed in the directive, constant in lock_gen.go; run"},
	{"fence lockrt.Fence) (int", "lease *lockrt.Lease) (int", "constantLocked is now func("},
	{"(ctx context.Context, fence lockrt.Fence) (int", "(ctx context.Context) (int", "constantLocked is now func("},
	{"//lock:key=b:{b}\nfunc pairLocked(ctx context.Context, a, b string, x, y", "func pairLocked(ctx context.Context, " +
		"a, b string, x",
		"the number of keys is 1 in the directive, 2 in lock_gen.go"},
	{"//lock:key=b:{b}\n", "//lock:key=b:{b}\n//lock:key=c\n", "the number of keys is 3 in the directive, 2 in lock_gen.go"},
	{"key=b:{b}", "key=b:{a}", "the key is b:{a} in the directive, b:{b} in"},
	{"rest ...int", "rest []int", "pairLocked is now func("},
	{"{s.user.ID},ttl=30s", "{s.user.Other},ttl=30s", "the key is behind:{s.user.Other} in the directive, " +
		"behind:{s.user.ID} in"},
	{"ID, Other int64", "ID, Other string", "have other types than lock_gen.go was made for"},
	{"value T) (T, error)", "value []T) (x T, err error)", "genericLocked is now func("},
	{"id string, value T", "id int, value T", "genericLocked is now func("},
	{"job=nightly", "job=daily", "job is daily in the directive, nightly in"},
	{"job=nightly,", "", "job is missing in the directive, nightly in"},
	{`cron="0 3 * * *"`, `cron="0 4 * * *"`, `cron is "0 4 * * *" in the directive, "0 3 * * *" in`},
	{"cron=@specOne", "cron=@specTwo", "cron is @specTwo in the directive, @specOne in"},
	{"tz=UTC", "tz=Europe/Berlin", "tz is Europe/Berlin in the directive, UTC in"},
	{"tz=UTC,", "", "tz is missing in the directive, UTC in"},
	{"misfire=once", "misfire=all", "misfire is all in the directive, once in"},
	{"misfire=once,", "", "misfire is missing in the directive, once in"},
	{"overlap=skip", "overlap=queue", "overlap is queue in the directive, skip in"},
	{"timeout=10m", "timeout=20m", "timeout is 20m in the directive, 10m in"},
	{"retries=3,", "retries=4,", "retries is 4 in the directive, 3 in"},
	{"retries=3,", "", "retries is missing in the directive, 3 in"},
	{"retries=@tries", "retries=@others", "retries is @others in the directive, @tries in"},
	{"jitter=10s", "jitter=20s", "jitter is 20s in the directive, 10s in"},
	{"{s.user.ID},ttl=2m", "{s.user.ID},ttl=3m", "ttl is 3m in the directive, 2m in"},
	{"key=job:{", "key=jobs:{", "the key is jobs:{s.user.ID} in the directive, job:{s.user.ID} in"},
	{"key=both:{s.user.Name}", "key=both:{s.user.ID}", "the key is both:{s.user.ID} in the directive, both:{s.user.Name} in"},
	{"key=fixed:{n}", "key=fixes:{n}", "the key is fixes:{n} in the directive, fixed:{n} in"},
	{"//lock:key=fixed:{n}\n", "//lock:key=fixed:{n}\n//lock:key=c\n", "the number of keys is 3 in the directive, 2 in lock_gen.go"},
	{"regionLocked(ctx context.Context, region string)", "regionLocked(ctx context.Context, region *string)",
		"regionLocked is now func("},
	{"package app\n", "//lock:default wait=7s\npackage app\n", "wait is 7s in the directive, 0 in"},
	{"package app\n", "//lock:default prefix=p:\npackage app\n", "the key is p:order:{id}:{name|lower} in the directive, order:{id}"},
	{"package app\n", "//lock:default misfire=all\npackage app\n", "misfire is all in the directive, missing in"},
	{`cron="0 3 * * *",tz=UTC,job=nightly,misfire=once,overlap=skip,timeout=10m,retries=3,jitter=10s`, "wait=0", `cron is missing in the directive, "0 3 * * *" in lock_gen.go; run`},
	{"key=plain,ttl=1h", "key=plain,ttl=1h,cron=@specOne", "cron is @specOne in the directive, missing in"},
	{"//lock:key=plain,ttl=1h\n", "", "generated code is orphaned: plainWithLock in lock_gen.go runs plain, which has " +
		"no //lock: directive"},
	{"//lock:key=plain,ttl=1h\nfunc plain() {}\n", "", "generated code is orphaned: plainWithLock in lock_gen.go runs " +
		"plain, which does not exist any more"},
	{"//lock:key=weekly,ttl=2m,cron=@specOne,retries=@tries\n", "", "generated code is orphaned: weekly in " +
		"lock_gen.go runs weeklyLocked"},
	{"locks, spare *lockrt.Locker }", "locks, spare *lockrt.Locker; other int }", ""},
	{"type box[T any] struct{ locks", "type box[T any] struct{ locker", "the Locker or the database is not the one that lock_gen.go was made for"},
	{"ttlTwo   = 30", "ttlTwo   = 31", ""},
	{"name|lower},ttl=30s,wait=5s", "name|lower},shared=\"why not\",ttl=30s,busy=error,wait=5s", ""},
	{"// placeLocked places.", "// placeLocked places well.", ""},
}

// TestLL1004_mutations runs lockgen itself: right behind it there is nothing to say, and each change is noticed.
func TestLL1004_mutations(t *testing.T) {
	dir := appModule(t)
	write := func(i int, text string) {
		pkg := filepath.Join(dir, fmt.Sprintf("m%03d", i))
		if err := os.MkdirAll(pkg, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(pkg, "app.go"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i := range mutations {
		write(i, jobSource)
	}
	lockgen(t, dir)
	for name, list := range findings(t, dir, Check.Analyzer) {
		t.Errorf("%s: right behind lockgen: %q", name, list)
	}
	for i, m := range mutations {
		text := strings.Replace(jobSource, m.from, m.to, 1)
		if text == jobSource {
			t.Fatalf("%q is not in the source", m.from)
		}
		write(i, text)
	}
	got := findings(t, dir, Check.Analyzer)
	for i, m := range mutations {
		list := got[fmt.Sprintf("m%03d", i)]
		if m.want == "" && len(list) > 0 {
			t.Errorf("%q to %q: %q, want silence", m.from, m.to, list)
		}
		if m.want != "" && !strings.Contains(strings.Join(list, "\n"), m.want) {
			t.Errorf("%q to %q: %q, want %q", m.from, m.to, list, m.want)
		}
	}
}

// TestLL1004_corpus: lockgen's own corpus, with everything that signatures and keys can have, and its goldens.
func TestLL1004_corpus(t *testing.T) {
	dir := appModule(t)
	if err := os.CopyFS(dir, os.DirFS("../../../../lockgen/testdata/torture")); err != nil {
		t.Fatal(err)
	}
	var goldens []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".golden") {
			goldens = append(goldens, path)
		}
		return err
	})
	if err != nil || len(goldens) < 8 {
		t.Fatalf("%d goldens: %v", len(goldens), err)
	}
	for _, name := range goldens {
		if err := os.Rename(name, strings.TrimSuffix(name, ".golden")); err != nil {
			t.Fatal(err)
		}
	}
	for name, list := range findings(t, dir, Check.Analyzer) {
		t.Errorf("%s: %q", name, list)
	}
	for _, name := range goldens {
		if err := os.Remove(strings.TrimSuffix(name, ".golden")); err != nil {
			t.Fatal(err)
		}
	}
	missing := 0
	for _, list := range findings(t, dir, Check.Analyzer) {
		missing += len(list)
	}
	if missing < 60 {
		t.Errorf("%d findings where all wrappers are missing", missing)
	}
}

// appModule makes an empty module that uses this one.
func appModule(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := testmodule.Init(dir, "example.com/app"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func appEnv() []string {
	return append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off")
}

func lockgen(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("go", "run", "github.com/lockgen/lockgen/cmd/lockgen", "./...")
	cmd.Dir, cmd.Env = dir, appEnv()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("lockgen: %v\n%s", err, out)
	}
}

// findings runs an analyzer on a module and returns what it says by package, those in a comment's tests included once.
func findings(t *testing.T, dir string, a *analysis.Analyzer) map[string][]string {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: dir, Env: appEnv(),
		Tests: true}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{a}, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, seen := map[string][]string{}, map[string]bool{}
	for _, act := range graph.Roots {
		if act.Err != nil {
			t.Errorf("%s: %v", act.Package, act.Err)
		}
		for _, d := range act.Diagnostics {
			at := act.Package.Fset.Position(d.Pos).String()
			if name := strings.TrimPrefix(act.Package.PkgPath, "example.com/app/"); !seen[at+d.Message] {
				found[name] = append(found[name], d.Message)
				seen[at+d.Message] = true
			}
		}
	}
	return found
}
