package redisstore

import (
	"embed"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/redisscript"
)

//go:embed lua/*.lua
var luaFiles embed.FS

type (
	script = redisscript.Script
	call   = redisscript.Call
)

var (
	acquireScript = redisscript.Load(luaFiles, "acquire").Once()
	releaseScript = redisscript.Load(luaFiles, "release").Once()
	retainScript  = redisscript.Load(luaFiles, "retain").Once()
	cancelScript  = redisscript.Load(luaFiles, "cancel")
	renewScript   = redisscript.Load(luaFiles, "renew")
	aliveScript   = redisscript.Load(luaFiles, "alive")
	breakScript   = redisscript.Load(luaFiles, "break").Once()
	heldScript    = redisscript.Load(luaFiles, "held")
	inspectScript = redisscript.Load(luaFiles, "inspect")
	confirmScript = redisscript.Load(luaFiles, "confirm")

	acquireSharedScript = redisscript.Load(luaFiles, "acquire_shared").Once()
	releaseSharedScript = redisscript.Load(luaFiles, "release_shared").Once()
	renewSharedScript   = redisscript.Load(luaFiles, "renew_shared")
	cancelSharedScript  = redisscript.Load(luaFiles, "cancel_shared")
	heldSharedScript    = redisscript.Load(luaFiles, "held_shared")
	aliveSharedScript   = redisscript.Load(luaFiles, "alive_shared")
	downgradeScript     = redisscript.Load(luaFiles, "downgrade")
)

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
	if strings.Contains(err.Error(), "attempted to access a non local key") {
		return true // a slot is moving; what the script wrote is consistent, and a retry gets TRYAGAIN
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
