package main

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/cmd/lockgen/internal/gen"
)

// optionRow is a row of README's tables of options: the name, and the example at the end.
var optionRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|.*\\| `([^`]+)` \\|$")

var fingerprint = regexp.MustCompile("(?m)^//lockgen:made .*$")

// TestOptions_eachReachesTheCode generates a function with each option of README's tables, which are complete, and
// without it. The code must be another, but for an option that only says something to people. An option whose example
// contradicts a schedule goes without one.
func TestOptions_eachReachesTheCode(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := initModule(dir); err != nil {
		t.Fatal(err)
	}
	const source = "package app\n\nimport (\n\"database/sql\"\n\nlockrt \"github.com/lockgen/lockgen/runtime\"\n)\n\n" +
		"type shop struct{ locks, spare *lockrt.Locker; db *sql.DB }\n\n" +
		"//lock:%\nfunc (s *shop) work(userID string) (int, error) { return 0, nil }\n"
	base := []string{"key=a", "ttl=20s", "locker=s.spare", `cron="@daily"`}
	write := func(name string, args []string) {
		text := source
		if name == "tx" {
			text = strings.Replace(text, "userID string", "userID string, tx *sql.Tx", 1)
		}
		writeFile(t, dir, name+"/app.go", strings.Replace(text, "%", strings.Join(args, ","), 1))
	}
	write("none", base)
	plain := slices.DeleteFunc(slices.Clone(base), func(arg string) bool { return strings.HasPrefix(arg, "cron=") })
	write("unscheduled", plain)
	rows := optionRow.FindAllStringSubmatch(string(mustRead(t, "README.md")), -1)
	example := func(row []string, from []string) {
		args := []string{row[2]}
		for _, arg := range from {
			if name, _, _ := strings.Cut(arg, "="); name != row[1] {
				args = append(args, arg)
			}
		}
		if row[1] != "key" { // stands first
			args[0], args[1] = args[1], args[0]
		}
		write(row[1], args)
	}
	generate := func() *gen.Result {
		result, err := gen.Generate(context.Background(), gen.Config{Dir: dir, Patterns: []string{"./..."}, Env: corpusEnv(t)})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	for _, row := range rows {
		example(row, base)
	}
	unscheduled := map[string]bool{}
	for _, p := range generate().Problems {
		if p.Kind == "conflict" {
			unscheduled[filepath.Base(filepath.Dir(p.File))] = true
		}
	}
	for _, row := range rows {
		if unscheduled[row[1]] {
			example(row, plain)
		}
	}
	result := generate()
	if len(result.Problems) > 0 || len(unscheduled) == 0 {
		t.Fatal(unscheduled, result.Problems)
	}
	code := map[string]string{}
	for _, f := range result.Files {
		name := filepath.Base(filepath.Dir(f.Path))
		plain := fingerprint.ReplaceAllString(string(f.Want), "") // it notices every change
		code[name] = strings.ReplaceAll(plain, "app/"+name, "app/none")
	}
	if len(rows) < 15 || len(code) != len(rows)+2 {
		t.Fatalf("%d rows, %d files", len(rows), len(code))
	}
	for _, row := range rows {
		same := code[row[1]] == code["none"]
		if unscheduled[row[1]] {
			same = code[row[1]] == code["unscheduled"]
		}
		if onlySays := row[1] == "shared"; same != onlySays {
			t.Errorf("%s: the generated code with and without it is the same: %v", row[2], same)
		}
	}
}
