package main

import (
	"io"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/examples/internal/cli"
	"github.com/lockgen/lockgen/examples/pitfalls/recipes"
)

// options are the flags of the command.
type options struct {
	redis string // empty: a server of our own
	only  string
	storm int // 0: do not measure
}

const usage = `usage: pitfalls [flags]

Lets hand-rolled Redis locks fail, each in its own way, and runs the same
scenarios with generated wrappers. Exit status: 0 if all recipes failed and all
wrappers were safe, 1 if not, 2 for wrong flags.

flags:
`

// parseFlags reads the command line. For -help it prints the flags to w and
// returns flag.ErrHelp.
func parseFlags(args []string, w io.Writer) (options, error) {
	var o options
	flags := cli.NewFlags("pitfalls")
	flags.StringVar(&o.redis, "redis", "",
		"`URL` of the Redis to use, redis://[:password@]host:port/db; keys begin with pitfalls-\n"+
			"(default: start a redis-server, which has to be installed)")
	flags.StringVar(&o.only, "only", "", "run only the rows that contain this `text`, such as GETSET or LL2009")
	flags.IntVar(&o.storm, "storm", 50, "`number` of waiters for the measurement of retries; 0 leaves it out")
	if _, err := cli.Parse(flags, args, usage, w); err != nil {
		return o, err
	}
	return o, o.check()
}

func (o options) check() error {
	if o.storm < 0 || o.storm > 10_000 {
		return cli.FlagError("-storm %d: want 0 to 10000", o.storm)
	}
	if len(o.pitfalls()) == 0 {
		return cli.FlagError("-only %q: no row contains it", o.only)
	}
	if o.redis != "" {
		if _, err := redis.ParseURL(o.redis); err != nil { // not repeated: it may show the password
			return cli.FlagError("-redis is not a URL that the Redis client understands; write redis://[:password@]host:port/db")
		}
	}
	return nil
}

// pitfalls are those that -only leaves.
func (o options) pitfalls() (chosen []recipes.Pitfall) {
	for _, p := range recipes.Pitfalls {
		text := strings.ToLower(strings.Join([]string{p.Recipe, p.Scenario, p.Check, p.File}, "\n"))
		if strings.Contains(text, strings.ToLower(o.only)) {
			chosen = append(chosen, p)
		}
	}
	return chosen
}
