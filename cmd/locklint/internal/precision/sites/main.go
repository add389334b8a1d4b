// Sites prints the lock-like lines of a repository as rows of the table of sites, to be labelled by hand. It looks for
// words only and knows nothing of locklint, so that what locklint misses is on the list, too.
//
//	go run ./internal/precision/sites SET OWNER/NAME COMMIT DIR
package main

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// kinds are the words, the first one that matches names the line. A counter is one only beside an expiry.
var kinds = []struct {
	name string
	re   *regexp.Regexp
}{
	{"setnx", regexp.MustCompile(`(?i)[.](try)?setnx\w*\(|["']setnx["']|[.]setifabsent\(`)},
	{"set nx", regexp.MustCompile(`["']NX["']|["']nx["']|[.]Nx\(\)|[.]SetArgs\(`)},
	{"getset", regexp.MustCompile(`[.]GetSet\(|["']GETSET["']`)},
	{"mutex", regexp.MustCompile(`[.]NewMutex\(`)},
	{"obtain", regexp.MustCompile(`[.]Obtain\(|rueidislock[.]NewLocker\(`)},
	{"script", regexp.MustCompile(`[.]Eval(Sha)?(RO)?(Ctx)?\(|\bNewScript\(|\bNewLuaScript\(|"EVAL(SHA)?"`)},
	{"incr", regexp.MustCompile(`[.]Incr(By)?\(|["']INCR(BY)?["']`)},
}

var (
	expiry = regexp.MustCompile(`(?i)expire\(|["']expire["']`)
	client = regexp.MustCompile(`(?i)redis|redsync|rueidis|setnx`)
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: sites SET OWNER/NAME COMMIT DIR")
		os.Exit(2)
	}
	w := csv.NewWriter(os.Stdout)
	err := filepath.WalkDir(os.Args[4], func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "vendor" || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		return printSites(w, name)
	})
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sites: cannot search %s: %v\n", os.Args[4], err)
		os.Exit(1)
	}
}

func printSites(w *csv.Writer, name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text := string(data)
	if !client.MatchString(text) {
		return nil
	}
	rel, err := filepath.Rel(os.Args[4], name)
	if err != nil {
		return err
	}
	expires := expiry.MatchString(text)
	for i, line := range strings.Split(text, "\n") {
		if kind := kindOf(line, expires); kind != "" {
			row := []string{os.Args[1], os.Args[2], os.Args[3], filepath.ToSlash(rel), strconv.Itoa(i + 1), kind, "",
				"", "", ""}
			if err := w.Write(row); err != nil {
				return err
			}
		}
	}
	return nil
}

func kindOf(line string, expires bool) string {
	if strings.HasPrefix(strings.TrimSpace(line), "//") {
		return ""
	}
	for _, k := range kinds {
		if k.re.MatchString(line) && (k.name != "incr" || expires) {
			return k.name
		}
	}
	return ""
}
