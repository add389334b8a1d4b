// Package redisscript loads and runs Lua scripts that are files of a package.
package redisscript

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Script is one file together with the functions that all files of its package share.
type Script struct {
	Source string
	SHA    string // of Source, in hexadecimal
	once   bool
}

// LibMark is the line of a file where the shared functions go. In files without it they stand in front.
const LibMark = "-- lib.lua is inserted here\n"

// insertMark is the line of a file where another one goes.
var insertMark = regexp.MustCompile(`(?m)^-- (\w+)\.lua is inserted here\n`)

// Load returns the script in lua/NAME.lua, with lua/lib.lua and the other files that it names. It panics if a file is
// missing: files is part of the binary.
func Load(files embed.FS, name string) *Script {
	return Compose(name, func(name string) string { return read(files, name) })
}

// Compose is Load for files that read returns.
func Compose(name string, read func(name string) string) *Script {
	source := read(name)
	if !strings.Contains(source, LibMark) {
		source = LibMark + source
	}
	return New(insertMark.ReplaceAllStringFunc(source, func(mark string) string {
		return read(insertMark.FindStringSubmatch(mark)[1])
	}))
}

func read(files embed.FS, name string) string {
	text, err := files.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// New returns the script with that text.
func New(source string) *Script {
	sum := sha1.Sum([]byte(source))
	return &Script{Source: source, SHA: hex.EncodeToString(sum[:])}
}

// Once marks a script that the client must not repeat when a connection breaks, because it matters whether it ran
// before. It returns s.
func (s *Script) Once() *Script {
	s.once = true
	return s
}

// Call is what one run of a script gets.
type Call struct {
	Keys []string
	Args []any
	// Script is the one to run, if it is not the one that all others run.
	Script *Script
}

// Run executes the script by its hash, or by its text where the server does not know the hash. The command has the
// error.
func (s *Script) Run(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) *redis.Cmd {
	cmd := s.command(ctx, "evalsha", s.SHA, keys, args)
	err := client.Process(ctx, s.sent(cmd))
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = s.command(ctx, "eval", s.Source, keys, args)
		_ = client.Process(ctx, s.sent(cmd)) // the command has its error
	}
	return cmd
}

// RunAll executes the script once for each call, in one round trip. Each command has its own error.
func (s *Script) RunAll(ctx context.Context, client redis.UniversalClient, calls []Call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	if len(calls) == 1 {
		cmds[0] = s.of(calls[0]).Run(ctx, client, calls[0].Keys, calls[0].Args...)
		return cmds
	}
	pipe := client.Pipeline()
	for i, call := range calls {
		script := s.of(call)
		cmds[i] = script.command(ctx, "evalsha", script.SHA, call.Keys, call.Args)
		_ = pipe.Process(ctx, script.sent(cmds[i])) // only queues
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, call := range calls {
		if redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") {
			cmds[i] = s.of(call).Run(ctx, client, call.Keys, call.Args...)
		}
	}
	return cmds
}

// of is the script of one call.
func (s *Script) of(c Call) *Script {
	if c.Script != nil {
		return c.Script
	}
	return s
}

// sent is what the client gets of a command.
func (s *Script) sent(cmd *redis.Cmd) redis.Cmder {
	if s.once {
		return onceCmd{cmd}
	}
	return cmd
}

func (s *Script) command(ctx context.Context, verb, text string, keys []string, args []any) *redis.Cmd {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, verb, text, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// onceCmd is a command that the client does not repeat when the connection breaks.
type onceCmd struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (onceCmd) NoRetry() bool { return true }
