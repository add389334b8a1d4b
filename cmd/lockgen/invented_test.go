package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inventedRows are options that nobody has: one for each kind of value, of locks and of jobs. They stand in the table of
// package directive and nowhere else.
const inventedRows = `
	{name: "linger", kind: kindDuration, ask: "7s", sets: lockField("Linger"),
		slot: func(d *Directive) slot { return field(&d.linger) }, against: []conflict{{
			with: "weight",
			when: func(d *Directive, _ *Key) bool { return d.weight != nil && d.weight.Value == 99 },
			say:  func(*Directive) string { return "linger and weight=99 fight" },
		}}},
	{name: "label", kind: kindText, ask: "x", sets: lockField("Label"), list: listing{unset: "none"},
		slot: func(d *Directive) slot { return field(&d.label) }},
	{name: "weight", kind: kindInt, ask: "3", sets: lockField("Weight"),
		slot: func(d *Directive) slot { return field(&d.weight) }},
	{name: "lazy", kind: kindBool, ask: "false", sets: unlessLockField("Eager"),
		slot: func(d *Directive) slot { return field(&d.lazy) }},
	{name: "urgent", kind: kindBool, cron: true, ask: "false", sets: jobField("Urgent"),
		slot: func(d *Directive) slot { return field(&d.urgent) }},
	{name: "colour", kind: kindWord, words: []string{"red", "green"}, cron: true, ask: "red", sets: jobField("Colour"),
		slot: func(d *Directive) slot { return field(&d.colour) }},
`

// inventedFields are where they are held.
const inventedFields = `
	linger *Duration
	label  *String
	weight *Int
	lazy   *Bool
	urgent *Bool
	colour *String
`

// inventedSource uses them. Each %s is one argument that the test changes.
const inventedSource = `package app

import (
	"time"

	_ "example.com/app/limits"
)

const lingering = 8 * time.Second

//lock:key=a,ttl=30s,linger=@lingering,label=@limits.Label,weight=3,lazy=false,cron="@daily",urgent,colour=red
func work() error { return nil }
`

// TestOptions_aRowOfTheTableIsEnough builds lockgen with options that only have a row in the table of package directive,
// and expects each to be read, checked, generated, listed, and seen by -check and locklint when it changes.
func TestOptions_aRowOfTheTableIsEnough(t *testing.T) {
	lockgen := buildInvented(t, "github.com/lockgen/lockgen/cmd/lockgen")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := initModule(dir); err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "limits/limits.go", "package limits\n\nconst Label = \"y\"\n")
	run := func(source string, args ...string) (string, int) {
		writeFile(t, dir, "app.go", source)
		return execute(t, dir, lockgen, args...)
	}
	if out, code := run(inventedSource); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	generated := string(mustRead(t, filepath.Join(dir, "lock_gen.go")))
	for _, want := range []string{"Linger:  lingering,", "Label:   limits.Label,", "Weight:  3,", "Eager:   true,",
		"Urgent: true,", "Colour: jobs.ColourRed,", `"example.com/app/limits"`} {
		if !strings.Contains(strings.Join(strings.Fields(generated), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%s is not in\n%s", want, generated)
		}
	}
	if out, code := run(inventedSource, "-check"); code != 0 {
		t.Errorf("-check right behind lockgen: exit %d\n%s", code, out)
	}
	for _, change := range []struct{ from, to string }{
		{"linger=@lingering", "linger=8s"}, {"label=@limits.Label", "label=z"}, {"weight=3", "weight=4"},
		{"lazy=false,", ""}, {",urgent", ""}, {"colour=red", "colour=green"},
		{"package app\n", "//lock:default linger=1s\npackage app\n"},
	} {
		source := strings.Replace(inventedSource, change.from, change.to, 1)
		if strings.HasPrefix(change.to, "//lock:default") {
			source = strings.Replace(source, "linger=@lingering,", "", 1)
		}
		if out, code := run(source, "-check"); code != 1 {
			t.Errorf("-check with %q for %q: exit %d\n%s", change.to, change.from, code, out)
		}
	}
	locklint := buildInvented(t, "github.com/lockgen/lockgen/cmd/locklint")
	writeFile(t, dir, "app.go", strings.Replace(inventedSource, "weight=3", "weight=4", 1))
	if out, _ := execute(t, dir, locklint, "-enable=LL1004", "."); !strings.Contains(out,
		"app.go:11:60: LL1004: generated code is stale: weight is 4 in the directive, 3 in lock_gen.go") {
		t.Errorf("locklint:\n%s", out)
	}
	listed(t, func() (string, int) { return run(inventedSource, "list", "-json") })
	for _, bad := range []struct{ from, to, want string }{
		{"linger=@lingering", "linger=0", "linger=0 is not positive"},
		{"weight=3", "weight=99", "linger and weight=99 fight"},
		{"colour=red", "colour=blue", "colour is \"blue\": write"},
		{`,cron="@daily"`, "", "urgent is for scheduled jobs"},
		{"weight=3", "wieght=3", `did you mean "weight"?`},
	} {
		out, code := run(strings.Replace(inventedSource, bad.from, bad.to, 1))
		if code != 2 || !strings.Contains(out, bad.want) {
			t.Errorf("%s: exit %d, want %q in\n%s", bad.to, code, bad.want, out)
		}
	}
}

func listed(t *testing.T, list func() (string, int)) {
	t.Helper()
	out, _ := list()
	var got struct {
		Functions []struct {
			Linger, Label string
			Weight        int
			Lazy          *bool
			Job           struct {
				Urgent bool
				Colour string
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Functions) != 1 {
		t.Fatalf("list -json: %v\n%s", err, out)
	}
	f := got.Functions[0]
	if f.Linger != "8s" || f.Label != "y" || f.Weight != 3 || f.Lazy == nil || *f.Lazy || !f.Job.Urgent || f.Job.Colour != "red" {
		t.Errorf("list -json:\n%s", out)
	}
}

// buildInvented builds a command with the invented options in the table, and nothing else changed.
func buildInvented(t *testing.T, command string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	table, err := filepath.Abs("../internal/directive/options.go")
	if err != nil {
		t.Fatal(err)
	}
	text := string(mustRead(t, table))
	for mark, more := range map[string]string{"\nvar options = []option{": inventedRows, "\ntype Directive struct {": inventedFields} {
		if strings.Count(text, mark) != 1 {
			t.Fatalf("%s does not hold %q once", table, mark)
		}
		text = strings.Replace(text, mark, mark+more, 1)
	}
	writeFile(t, dir, "options.go", text)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{table: filepath.Join(dir, "options.go")}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir, "overlay.json", string(overlay))
	binary = filepath.Join(dir, "command")
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, command)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// execute runs a command in a folder.
func execute(t *testing.T, dir, name string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, corpusEnv(t)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
