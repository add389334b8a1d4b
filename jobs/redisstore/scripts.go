package redisstore

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

var (
	registerScript  = loadScript("register")
	retireScript    = loadScript("retire")
	restoreScript   = loadScript("restore")
	lookScript      = loadScript("look")
	listScript      = loadScript("list")
	claimScript     = loadScript("claim")
	startScript     = loadScript("start")
	finishScript    = loadScript("finish")
	heartbeatScript = loadScript("heartbeat")
	nodeScript      = loadScript("node")
	pauseScript     = loadScript("pause")
	resumeScript    = loadScript("resume")
	cancelScript    = loadScript("cancel")
	putScript       = loadScript("put")
	withdrawScript  = loadScript("withdraw")
)

// script is one file under lua, with the shared functions in front of it. All scripts may run twice without harm.
type script struct{ source, sha string }

func loadScript(name string) *script {
	source := ""
	for _, file := range []string{"lib", name} {
		text, err := luaFiles.ReadFile("lua/" + file + ".lua")
		if err != nil {
			panic(err) // the files are part of the binary
		}
		source += string(text)
	}
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// scriptCall is what one run of a script gets.
type scriptCall struct {
	keys []string
	args []any
}

// run executes the script for each call, in one round trip. Each command has its own error.
func (s *script) run(ctx context.Context, client redis.UniversalClient, calls ...scriptCall) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(calls))
	if len(calls) == 1 {
		cmds[0] = client.EvalSha(ctx, s.sha, calls[0].keys, calls[0].args...)
	} else {
		pipe := client.Pipeline()
		for i, c := range calls {
			cmds[i] = pipe.EvalSha(ctx, s.sha, c.keys, c.args...)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
	}
	for i, c := range calls {
		if redis.HasErrorPrefix(cmds[i].Err(), "NOSCRIPT") {
			cmds[i] = client.Eval(ctx, s.source, c.keys, c.args...)
		}
	}
	return cmds
}
