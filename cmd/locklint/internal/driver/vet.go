package driver

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// This file is the protocol of go vet -vettool. unitchecker implements it, but its flags are its own: it knows
// nothing of -enable and -disable. So the command line is parsed here, and unitchecker sees the selected analyzers
// and the flags that it understands.

// vetUnit analyses the one package that a .cfg file describes. It does not return.
func vetUnit(o *options) int {
	var args []string
	for name, on := range map[string]bool{"-json": o.json, "-fix": o.fix, "-diff": o.diff} {
		if on {
			args = append(args, name)
		}
	}
	if o.context >= 0 {
		args = append(args, "-c="+strconv.Itoa(o.context))
	}
	return unitcheck(append(args, o.unit), o.checks)
}

// vetVersion answers -V=full: the go command caches results by it. It does not return.
func vetVersion() int { return unitcheck([]string{"-V=full"}, lockcheck.Checks) }

func unitcheck(args []string, checks []*lockcheck.Check) int {
	os.Args = append(os.Args[:1:1], args...)
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	unitchecker.Main(analyzersOf(checks)...)
	return exitFailed // unitchecker ends the process
}

// describeFlags answers -flags: the go command accepts these flags and passes them on.
func describeFlags(stdout, stderr io.Writer) int {
	type described struct {
		Name  string
		Bool  bool
		Usage string
	}
	list := []described{}
	var unused string
	new(options).flags(&unused, &unused).VisitAll(func(f *flag.Flag) {
		switch f.Name {
		case "explain", "flags", "fix", "test", "V": // ours alone, or the go command's own business
			return
		}
		b, ok := f.Value.(interface{ IsBoolFlag() bool })
		list = append(list, described{f.Name, ok && b.IsBoolFlag(), f.Usage})
	})
	text, err := json.MarshalIndent(list, "", "\t")
	if err != nil {
		fmt.Fprintf(stderr, "locklint: cannot describe the flags: %v\n", err)
		return exitFailed
	}
	fmt.Fprintf(stdout, "%s\n", text)
	return exitClean
}
