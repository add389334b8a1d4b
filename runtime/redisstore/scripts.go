package redisstore

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

var (
	acquireScript = loadScript("acquire").once()
	releaseScript = loadScript("release").once()
	retainScript  = loadScript("retain").once()
	cancelScript  = loadScript("cancel")
	renewScript   = loadScript("renew")
	aliveScript   = loadScript("alive")
	breakScript   = loadScript("break").once()
	heldScript    = loadScript("held")
	inspectScript = loadScript("inspect")
)

// script is one file of the protocol together with the functions that all share.
type script struct {
	source, sha string
	isOnce      bool // the client must not repeat it: whether it ran before makes a difference
}

func (s *script) once() *script {
	s.isOnce = true
	return s
}

// libMark is the line of a script where lib.lua goes. Scripts without it begin with lib.lua.
const libMark = "-- lib.lua is inserted here\n"

func loadScript(name string) *script {
	lib, source := luaFile("lib"), luaFile(name)
	if strings.Contains(source, libMark) {
		source = strings.Replace(source, libMark, lib, 1)
	} else {
		source = lib + source
	}
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

func luaFile(name string) string {
	text, err := luaFiles.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // the files are part of the binary
	}
	return string(text)
}

// run executes the script, by its hash, or by its text where the server does not have it yet. The client may repeat
// the call when the connection breaks, unless the script is one to run once.
func (s *script) run(ctx context.Context, client redis.UniversalClient, keys []string, args ...any) *redis.Cmd {
	cmd := s.command(ctx, "evalsha", s.sha, keys, args)
	err := client.Process(ctx, s.sent(cmd))
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		cmd = s.command(ctx, "eval", s.source, keys, args)
		_ = client.Process(ctx, s.sent(cmd)) // the command has its error
	}
	return cmd
}

// sent is what the client gets of a command.
func (s *script) sent(cmd *redis.Cmd) redis.Cmder {
	if s.isOnce {
		return onceCmd{cmd}
	}
	return cmd
}

func (s *script) command(ctx context.Context, verb, text string, keys []string, args []any) *redis.Cmd {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, verb, text, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// pipeline runs the script for many sets of keys and arguments in one round trip.
func (s *script) pipeline(ctx context.Context, client redis.UniversalClient, calls []call) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	pipe := client.Pipeline()
	for i, c := range calls {
		cmds[i] = s.command(ctx, "evalsha", s.sha, c.keys, c.args)
		_ = pipe.Process(ctx, s.sent(cmds[i])) // only queues
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, c := range calls {
		if redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") {
			cmds[i] = s.run(ctx, client, c.keys, c.args...)
		}
	}
	return cmds
}

type call struct {
	keys []string
	args []any
}

// onceCmd is a command that the client does not repeat when the connection breaks.
type onceCmd struct{ *redis.Cmd }

// NoRetry implements redis.Cmder.
func (onceCmd) NoRetry() bool { return true }

// ints reads a script's array of numbers.
func ints(cmd *redis.Cmd, n int) ([]int64, error) {
	values, err := cmd.Int64Slice()
	if err == nil && len(values) != n {
		err = fmt.Errorf("the lock script answered %d values instead of %d", len(values), n)
	}
	return values, err
}

// retryable reports whether a failed call may succeed when it is repeated: the connection broke, or the server says
// that it is not ready.
func retryable(err error) bool {
	if !isReply(err) {
		return !errors.Is(err, redis.ErrClosed)
	}
	switch errorCode(err) {
	case "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "BUSY":
		return true
	}
	return false
}

// errorCode returns the word with which the server begins the error of a command, such as READONLY, whether it refused
// the script or a command in it; empty where err is no server's.
//
// Since Redis 7 the error of a command in a script is the script's own, with the place behind it. Those before wrap it:
//
//	ERR Error running script (call to f_<sha1>): @user_script:12: @user_script: 12: -READONLY You can't write …
func errorCode(err error) string {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return ""
	}
	text := reply.Error()
	if inner := commandError.FindStringSubmatch(text); inner != nil {
		return inner[1]
	}
	code, _, _ := strings.Cut(text, " ")
	return code
}

// commandError finds the code of a command's error in a script's. All before it is the server's own text, so that no
// key or value is taken for a code.
var commandError = regexp.MustCompile(
	`^ERR Error running script \(call to [0-9a-f_]+\): @user_script: ?\d+: (?:@user_script: ?\d+: )?-([A-Z]+)(?: |$)`)

// mayHaveRun reports whether a script whose call failed may have run: not if the server said why it did not, or was not
// reached.
func mayHaveRun(err error) bool {
	var dial *net.OpError
	return !isReply(err) && !(errors.As(err, &dial) && dial.Op == "dial")
}
