package redisstore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
)

// reply is an error as the client makes it of a server's.
type reply string

func (r reply) Error() string { return string(r) }

func (reply) RedisError() {}

var _ redis.Error = reply("")

// The texts are those of Redis 6.2, 7.0 and Dragonfly.
func TestRetryable_wordings(t *testing.T) {
	const (
		v6 = "ERR Error running script (call to f_1028a5dba704e1d8a01fd96efeba25bb78f62df2): @user_script:4: @user_script: 4: "
		v7 = " script: 1028a5dba704e1d8a01fd96efeba25bb78f62df2, on @user_script:4."
	)
	for text, want := range map[string]struct {
		code  string
		again bool
	}{
		v6 + "-READONLY You can't write against a read only replica.":                                {"READONLY", true},
		"READONLY You can't write against a read only replica." + v7:                                 {"READONLY", true},
		"READONLY You can't write against a read only replica.":                                      {"READONLY", true},
		"ERR Error running script (call to d8f2): @user_script:2: -READONLY You can't write.":        {"READONLY", true},
		v6 + "-NOREPLICAS Not enough good replicas to write.":                                        {"NOREPLICAS", true},
		"NOREPLICAS Not enough good replicas to write." + v7:                                         {"NOREPLICAS", true},
		"LOADING Redis is loading the dataset in memory":                                             {"LOADING", true},
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":           {"MASTERDOWN", true},
		"CLUSTERDOWN The cluster is down":                                                            {"CLUSTERDOWN", true},
		"TRYAGAIN Multiple keys request during rehashing of slot":                                    {"TRYAGAIN", true},
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":     {"BUSY", true},
		"BUSYGROUP Consumer Group name already exists":                                               {"BUSYGROUP", false},
		v6 + "-OOM command not allowed when used memory > 'maxmemory'.":                              {"OOM", false},
		"OOM command not allowed when used memory > 'maxmemory'." + v7:                               {"OOM", false},
		v6 + "-MISCONF Errors writing to the AOF file: No space left on device":                      {"MISCONF", false},
		v6 + "-WRONGTYPE Operation against a key holding the wrong kind of value":                    {"WRONGTYPE", false},
		"NOPERM this user has no permissions to run the 'evalsha' command":                           {"NOPERM", false},
		"ERR Error running script (call to f_1028): @user_script:4: user_script:4: key: -READONLY x": {"ERR", false},
		"ERR unknown command 'X', with args beginning with: 'a: -READONLY x'":                        {"ERR", false},
	} {
		err := fmt.Errorf("call: %w", reply(text))
		if code, again := errorCode(err), retryable(err); code != want.code || again != want.again {
			t.Errorf("%s: code %q, retryable %v; want %q, %v", text, code, again, want.code, want.again)
		}
	}
}

func TestRetryable_connection(t *testing.T) {
	if err := errors.New("connection reset"); !retryable(err) || errorCode(err) != "" {
		t.Error("a broken connection is not tried again")
	}
	if retryable(redis.ErrClosed) {
		t.Error("a closed client is tried again")
	}
}
