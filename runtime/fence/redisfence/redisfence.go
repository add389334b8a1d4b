// Package redisfence refuses commands and scripts in Redis whose fence is not current; see
// [github.com/lockgen/lockgen/runtime/fence].
package redisfence

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockgen/lockgen/internal/redistag"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	named "github.com/lockgen/lockgen/runtime/fence/internal/resource"
)

// Redis runs commands and scripts only if their fence is current. The high-water mark of a resource is a key beside the
// data.
//
// In Redis Cluster the high-water mark and all keys of one call must share a slot. They do where the resource has the
// {hash tag} of the key that it protects, or where it is called like that key and the key holds no %, { or }: resource
// "cart:42" goes with the keys "cart:42" and "{cart:42}:items", resource "{user42}" or "cart:{user42}" with all keys
// that hold {user42}. In a name without a hash tag %, { and } are percent-encoded, so such a name needs a tag of its
// own.
//
// An ACL needs ~fence:{*, the keys of the data, +get +set +eval +evalsha and the commands of the work; for commands of
// more than 7,000 words +watch +unwatch +multi +exec too, and +del for Reset.
//
// With replicas, a failover may lose the last writes, those of the high-water mark together with those of the data. The
// eviction policy must not evict it: noeviction, or a volatile one with Expiry 0.
type Redis struct {
	// Client is the caller's: a *redis.Client, also of Sentinels, or a *redis.ClusterClient. A *redis.Ring is refused:
	// when a server is down it sends keys to another one, which does not have their high-water marks.
	Client redis.UniversalClient
	// Namespace begins the keys of all high-water marks. Defaults to "fence".
	Namespace string
	// Expiry is how long the high-water mark is kept after the last write. A fence that comes later is accepted however
	// old it is, so it must be longer than any holder can be delayed: days rather than minutes. 0 keeps it without an
	// end.
	Expiry time.Duration
}

// Script is Lua code that runs under a fence. It sees only its own KEYS and ARGV.
type Script struct{ script *redis.Script }

//go:embed lua/guard.lua
var guardLua string

// NewScript prepares Lua code, without a #! line. It does not contact a server; errors in the code are returned by Redis
// when it runs.
func NewScript(lua string) *Script {
	// The work begins on the first line, so that the line numbers in errors are its own.
	return &Script{redis.NewScript("local function work(KEYS, ARGV) " + lua + "\nend\n" + guardLua)}
}

var _ fence.State = Redis{}

var (
	commandScript = NewScript("return redis.call(unpack(ARGV))")
	noScript      = NewScript("return 1")
)

// Do runs a command, if no higher fence than f was seen for resource. The first word after the command's name must be
// its key, as in "SET", key, value; for commands with several keys use [Redis.Run]. A refused command's error is a
// [*fence.StaleError]. The reply is what the command returns through Lua: numbers and text as usual, "OK" as text.
//
// A command of more than 7,000 words, which is more than Lua can pass on, runs in a transaction (WATCH, MULTI, EXEC)
// instead: the same in effect, in four round trips, and again if another write with the same high-water mark comes in
// between. Its error wraps redis.TxFailedErr if that happens twenty times.
//
// As with every command, the client may repeat it when the connection breaks, unless its MaxRetries is negative.
func (r Redis) Do(ctx context.Context, resource string, f lockrt.Fence, args ...any) *redis.Cmd {
	if len(args) < 2 {
		return failed(ctx, fmt.Errorf("fenced command on %q: %w: a command and its key are needed, got %d words", resource, fence.ErrInvalid, len(args)))
	}
	key, ok := args[1].([]byte)
	if !ok {
		key = fmt.Append(nil, args[1])
	}
	if len(args) > luaWords {
		return r.doLarge(ctx, resource, f, string(key), args)
	}
	return r.Run(ctx, resource, f, commandScript, []string{string(key)}, args...)
}

// Run runs a script with its keys and arguments, if no higher fence than f was seen for resource. A refused script's
// error is a [*fence.StaleError].
func (r Redis) Run(ctx context.Context, resource string, f lockrt.Fence, script *Script, keys []string, args ...any) *redis.Cmd {
	if err := r.check(resource, f); err != nil {
		return failed(ctx, fmt.Errorf("fenced script: %w", err))
	}
	mark := r.MarkKey(resource)
	allKeys := append([]string{mark}, keys...)
	allArgs := append([]any{f.String(), r.Expiry.Milliseconds()}, args...)
	cmd := script.script.Run(ctx, r.Client, allKeys, allArgs...)
	if err := cmd.Err(); err != nil {
		cmd.SetErr(r.explain(err, resource, f, allKeys))
	}
	return cmd
}

// Check records f for resource and fails with a [*fence.StaleError] if a higher fence was seen. It is [fence.State]: it says
// nothing about what is written after it, by this or another command.
func (r Redis) Check(ctx context.Context, resource string, f lockrt.Fence) error {
	return r.Run(ctx, resource, f, noScript, nil).Err()
}

// Reset forgets the high-water mark of a resource, so that the next fence is accepted whatever it is. It is for an
// operator who has found a high-water mark that no lease raised: until the next holder has written, a stale writer is
// not refused.
func (r Redis) Reset(ctx context.Context, resource string) error {
	if err := r.check(resource, 1); err != nil {
		return fmt.Errorf("reset fence mark: %w", err)
	}
	if err := r.Client.Del(ctx, r.MarkKey(resource)).Err(); err != nil {
		return fmt.Errorf("reset fence mark of %q: %w", resource, err)
	}
	return nil
}

func (r Redis) check(resource string, f lockrt.Fence) error {
	_, ring := r.Client.(*redis.Ring)
	switch {
	case r.Client == nil:
		return fmt.Errorf("%w: redisfence.Redis has no Client", fence.ErrInvalid)
	case ring:
		return fmt.Errorf("%w: redisfence.Redis has a *redis.Ring, which sends keys to another server when one is away and leaves "+
			"their marks behind; use a single server, Sentinels or a Redis Cluster", fence.ErrInvalid)
	case r.Expiry < 0 || r.Expiry > 0 && r.Expiry < time.Second:
		return fmt.Errorf("%w: redisfence.Redis has Expiry %s; use 0 for none, or at least a second, longer than any holder can be delayed", fence.ErrInvalid, r.Expiry)
	}
	if err := named.Check(resource, f); err != nil {
		return fmt.Errorf("%w: %w", fence.ErrInvalid, err)
	}
	return nil
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}

// explain turns the guard's refusals into errors of this package. Errors of the work come through as they are.
func (r Redis) explain(err error, resource string, f lockrt.Fence, keys []string) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	word, rest, _ := strings.Cut(reply.Error(), " ")
	switch word {
	case "STALEFENCE":
		digits, _, _ := strings.Cut(rest, " ") // Redis 7 appends where the script is
		highest, parseErr := strconv.ParseUint(digits, 10, 63)
		if parseErr != nil {
			return r.badMark(resource, err)
		}
		return &fence.StaleError{Resource: resource, Given: f, Highest: lockrt.Fence(highest)}
	case "BADFENCEMARK":
		return r.badMark(resource, err)
	case "CROSSSLOT":
		return fmt.Errorf("fenced script on %q: %w; give the resource the name or the {hash tag} of the key that it protects: the keys %s must share a slot",
			resource, err, strings.Join(keys, " "))
	}
	return err
}

func (r Redis) badMark(resource string, err error) error {
	return fmt.Errorf("fenced command on %q: the mark %s: %w; set redisfence.Redis.Namespace to one of your own, or remove that key",
		resource, r.MarkKey(resource), err)
}

// MarkKey returns the key of a resource's high-water mark: fence:{name}, or fence:{tag}:name where the name has a hash
// tag.
func (r Redis) MarkKey(resource string) string {
	namespace := r.Namespace
	if namespace == "" {
		namespace = "fence"
	}
	prefix := redistag.Encode(namespace) + ":{"
	if tag := hashTag(resource); tag != "" {
		return prefix + tag + "}:" + resource
	}
	return prefix + redistag.Encode(resource) + "}"
}

// hashTag returns what alone Redis Cluster hashes of the key: the text between the first { and the next }. It is empty
// where the whole key is hashed.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, ok := strings.Cut(rest, "}")
	if !ok {
		return ""
	}
	return tag
}
