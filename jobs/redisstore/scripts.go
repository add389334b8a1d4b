package redisstore

import (
	"embed"

	"github.com/lockgen/lockgen/internal/redisscript"
)

//go:embed lua/*.lua
var luaFiles embed.FS

type (
	script     = redisscript.Script
	scriptCall = redisscript.Call
)

// All scripts may run twice without harm.
var (
	registerScript  = redisscript.Load(luaFiles, "register")
	retireScript    = redisscript.Load(luaFiles, "retire")
	restoreScript   = redisscript.Load(luaFiles, "restore")
	lookScript      = redisscript.Load(luaFiles, "look")
	listScript      = redisscript.Load(luaFiles, "list")
	claimScript     = redisscript.Load(luaFiles, "claim")
	startScript     = redisscript.Load(luaFiles, "start")
	finishScript    = redisscript.Load(luaFiles, "finish")
	heartbeatScript = redisscript.Load(luaFiles, "heartbeat")
	nodeScript      = redisscript.Load(luaFiles, "node")
	pauseScript     = redisscript.Load(luaFiles, "pause")
	resumeScript    = redisscript.Load(luaFiles, "resume")
	cancelScript    = redisscript.Load(luaFiles, "cancel")
	putScript       = redisscript.Load(luaFiles, "put")
	withdrawScript  = redisscript.Load(luaFiles, "withdraw")
)
