package driver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The packages of the module that the tests run on. An interface over a client is as good as the client.
var matrixFiles = map[string]string{
	"go.mod":         "module example.com/matrix\n\ngo 1.26\n",
	"clean/clean.go": "// Package clean has nothing to do with locks.\npackage clean\n\nfunc Add(a, b int) int { return a + b }\n",
	"errors/errors.go": matrixLock("errors",
		`	defer r.Del(context.Background(), "lock:a")`),
	"warnings/warnings.go": matrixLock("warnings",
		`	defer r.Del(context.Background(), "lock:a") //locklint:ignore LL2002 nobody else has the key`),
	"broken/broken.go": "package broken\n\nfunc f() int { return missing }\n\n//lock:key=a,tll=5s\nfunc g() {}\n",
	"above/above.go":   "package above\n\nimport _ \"example.com/matrix/broken\"\n",
}

func matrixLock(name, release string) string {
	return "package " + name + `

import (
	"context"
	"time"
)

type client interface {
	SetNX(ctx context.Context, key, value string, ttl time.Duration) bool
	Del(ctx context.Context, keys ...string) error
}

func F(ctx context.Context, r client) {
	if !r.SetNX(ctx, "lock:a", "1", time.Minute) {
		return
	}
` + release + `
}
`
}

// matrixModule makes the module and goes there.
func matrixModule(t *testing.T) {
	t.Helper()
	goToModule(t, matrixFiles)
}

// goToModule makes a module of files and goes there.
func goToModule(t *testing.T, files map[string]string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for name, value := range map[string]string{"GOWORK": "off", "GOFLAGS": "", "GOPROXY": "off"} {
		t.Setenv(name, value)
	}
}

// TestMain_matrix: what is printed depends on the format alone, and the exit code on what was found alone.
func TestMain_matrix(t *testing.T) {
	matrixModule(t)
	for _, p := range []struct {
		pkg  string
		ids  []string // in the order of the source
		code int
	}{
		{"./clean", nil, exitClean},
		{"./errors", []string{"LL2003", "LL2002"}, exitFindings},
		{"./warnings", []string{"LL2003"}, exitFindings},
		{"./broken", []string{"LL1005"}, exitFailed},
		{"./above", nil, exitFailed},
		{"./nosuch", nil, exitFailed},
	} {
		for format, read := range map[string]func(*testing.T, string) []string{
			"-test": readText, "-json": readJSON, "-sarif": readSARIF,
		} {
			t.Run(p.pkg[2:]+format, func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				if code := Main([]string{format, p.pkg}, &stdout, &stderr); code != p.code {
					t.Errorf("the exit code is %d, want %d", code, p.code)
				}
				if got, want := strings.Join(read(t, stdout.String()), " "), strings.Join(p.ids, " "); got != want {
					t.Errorf("it prints %q, want %q:\n%s", got, want, stdout.String())
				}
				if (stderr.Len() > 0) != (p.code == exitFailed) {
					t.Errorf("with exit code %d it says %q", p.code, stderr.String())
				}
			})
		}
	}
}

// TestMain_selection: the flags that choose findings decide about the exit code in every format.
func TestMain_selection(t *testing.T) {
	matrixModule(t)
	for _, tt := range []struct {
		flags string
		pkg   string
		code  int
	}{
		{"-fail-on=error", "./errors", exitFindings},
		{"-fail-on=error", "./warnings", exitClean},
		{"-fail-on=warning", "./warnings", exitFindings},
		{"-fail-on=info", "./warnings", exitFindings},
		{"-fail-on=error -json", "./warnings", exitClean},
		{"-fail-on=error -sarif", "./errors", exitFindings},
		{"-enable=LL2005", "./errors", exitClean},
		{"-enable=all -json", "./clean", exitClean},
		{"-disable=LL2002,LL2003", "./errors", exitClean},
		{"-disable=ll2002", "./errors", exitFindings},
		{"-fail-on=error", "./broken", exitFailed},
		{"-diff", "./errors", exitFindings},
		{"-json -sarif", "./errors", exitFailed},
		{"-fail-on=fatal", "./errors", exitFailed},
		{"-enable=LL9999", "./errors", exitFailed},
		{"-tags=a,b", "./errors", exitFindings},
		{"-test=false", "./errors", exitFindings},
		{"-baseline=missing.json", "./errors", exitFailed},
		{"-new-from-rev=HEAD", "./errors", exitFailed}, // no repository
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(append(strings.Fields(tt.flags), tt.pkg), &stdout, &stderr); code != tt.code {
			t.Errorf("%s %s: the exit code is %d, want %d: %s", tt.flags, tt.pkg, code, tt.code, stderr.String())
		}
	}
}

func readText(_ *testing.T, text string) []string {
	var ids []string
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, ": LL"); ok && !strings.HasPrefix(line, "\t") {
			id, _, _ := strings.Cut(rest, ":")
			ids = append(ids, "LL"+id)
		}
	}
	return ids
}

func readJSON(t *testing.T, text string) []string {
	var doc struct{ Findings []finding }
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var ids []string
	for _, f := range doc.Findings {
		ids = append(ids, f.ID)
	}
	return ids
}

// readSARIF leaves out what is silenced: SARIF names it, with the reason.
func readSARIF(t *testing.T, text string) []string {
	var doc struct {
		Runs []struct {
			Results []struct {
				RuleID       string
				Suppressions []any
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var ids []string
	for _, run := range doc.Runs {
		for _, r := range run.Results {
			if len(r.Suppressions) == 0 {
				ids = append(ids, r.RuleID)
			}
		}
	}
	return ids
}
