// Package cli is what the examples have in common as commands: their exit
// statuses, and how they read and refuse flags.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Exit statuses.
const (
	OK     = 0
	Failed = 1 // it did not show what it should, or could not run
	Usage  = 2 // wrong flags
)

// errFlags marks errors that end a command with the status Usage.
var errFlags = errors.New("wrong flags")

// FlagError is an error that says which flag is wrong and what is wanted.
func FlagError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errFlags}, args...)...)
}

// NewFlags returns an empty set. Its own errors are not printed but returned by Parse:
// a wrong value may be a URL with its password.
func NewFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// Parse reads the command line and returns which flags are on it. For -help it prints
// usage and the flags to w and returns flag.ErrHelp; arguments that are no flags are
// refused.
func Parse(flags *flag.FlagSet, args []string, usage string, w io.Writer) (given map[string]bool, err error) {
	err = flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(w, usage)
		flags.SetOutput(w)
		flags.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, FlagError("%v (see -help)", err)
	case flags.NArg() > 0:
		return nil, FlagError("unexpected argument %q (see -help)", flags.Arg(0))
	}
	given = map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given, nil
}

// MemoryStore is the -store that needs no server.
const MemoryStore = "memory:"

// CheckStore refuses a -store that is neither MemoryStore nor a URL of one of the schemes. It never repeats the URL,
// which may hold a password. What comes after the scheme is for the store to read.
func CheckStore(store string, schemes ...string) error {
	scheme, rest, _ := strings.Cut(store, "://")
	if store == MemoryStore || slices.Contains(schemes, scheme) && rest != "" {
		return nil
	}
	return FlagError("-store is of no known kind: want %s or redis://[:password@]host:port/db, with special characters "+
		"of the password as %%XX; the schemes of servers are %s", MemoryStore, strings.Join(schemes, ", "))
}

// Status is the exit status of a command that ended with err, or without an error and
// was satisfied or not. It prints the error.
func Status(name string, satisfied bool, err error, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		return OK
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
	}
	switch {
	case errors.Is(err, errFlags):
		return Usage
	case err != nil || !satisfied:
		return Failed
	}
	return OK
}
