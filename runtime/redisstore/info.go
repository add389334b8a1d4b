package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// parseInfo reads the answer of inspect.lua.
func parseInfo(key string, cmd *redis.Cmd) (lockrt.LockInfo, error) {
	fields, err := wordsOf(cmd)
	if err != nil {
		return lockrt.LockInfo{}, err
	}
	if len(fields) == 0 {
		return lockrt.LockInfo{}, lockrt.ErrNotHeld
	}
	info, err := readInfo(fields)
	if err != nil {
		return lockrt.LockInfo{}, fmt.Errorf("the lock script inspect answered %q: %w", fields, err)
	}
	info.Key = key
	return info, nil
}

// wordsOf reads an answer of texts and numbers.
func wordsOf(cmd *redis.Cmd) ([]string, error) {
	values, err := cmd.Slice()
	if err != nil {
		return nil, err
	}
	fields := make([]string, len(values))
	for i, value := range values {
		fields[i] = fmt.Sprint(value)
	}
	return fields, nil
}

var errInfoShort = errors.New("it is too short")

func readInfo(fields []string) (info lockrt.LockInfo, err error) {
	if len(fields) < 6 {
		return info, errInfoShort
	}
	epoch, err1 := strconv.ParseUint(fields[1], 10, 53)
	since, err2 := strconv.ParseInt(fields[2], 10, 64)
	remaining, err3 := strconv.ParseInt(fields[3], 10, 64)
	count, err4 := strconv.Atoi(fields[5])
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return info, err
	}
	info = lockrt.LockInfo{
		ID: fields[0], Node: fields[4], Fence: lockrt.FenceOf(epoch),
		Since: time.UnixMicro(since), Remaining: time.Duration(remaining) * time.Millisecond,
	}
	rest := fields[6:]
	if count < 0 || len(rest) < 3*count || (len(rest)-3*count)%2 != 0 {
		return info, errInfoShort
	}
	if strings.HasPrefix(info.ID, "*") {
		if info.Holders, info.Limit, err = readHolders(rest[:3*count], info); err != nil {
			return info, err
		}
		info = sharedInfo(info)
	}
	if info.ID == "-" {
		info.ID = ""
	}
	info.ID, _, _ = splitID(info.ID)
	info.Waiters = readWaiters(rest[3*count:])
	return info, nil
}

// sharedInfo fills in what is said about all holders of a lock that is shared.
func sharedInfo(info lockrt.LockInfo) lockrt.LockInfo {
	permits := info.ID == "*p"
	info.ID, info.Node = "", ""
	if len(info.Holders) > 0 {
		first := info.Holders[0]
		info.ID, info.Node, info.Fence = first.ID, first.Node, first.Fence
		if info.Since = first.Since; permits {
			info.Remaining = first.Remaining
		}
	}
	if info.Mode = lockrt.Read; permits {
		info.Mode = lockrt.Write
	}
	return info
}

// readHolders reads "<id> <channel> <node>", the rest of the share and "<epoch> <since> <limit> <slot>" of each, where
// the last is empty for readers. When a reader came is not known: it has the moment of the first.
func readHolders(fields []string, info lockrt.LockInfo) (holders []lockrt.Holder, limit int, err error) {
	for i := 0; i < len(fields); i += 3 {
		left, err := strconv.ParseInt(fields[i+1], 10, 64)
		words := strings.SplitN(fields[i], " ", 3)
		if err != nil || len(words) != 3 {
			return nil, 0, errors.Join(fmt.Errorf("holder %q", fields[i]), err)
		}
		h := lockrt.Holder{
			ID: words[0], Node: words[2], Fence: info.Fence, Slot: -1, Since: info.Since,
			Remaining: time.Duration(left) * time.Millisecond,
		}
		if strings.HasPrefix(h.ID, "-") {
			h.ID = ""
		}
		var epoch uint64
		var since int64
		if _, err := fmt.Sscanf(fields[i+2], "%d %d %d %d", &epoch, &since, &limit, &h.Slot); err == nil {
			h.Fence, h.Since = lockrt.FenceOf(epoch), time.UnixMicro(since)
		}
		holders = append(holders, h)
	}
	return holders, limit, nil
}

// readWaiters reads ids in the queue and "<ttl> <channel> <node>" of each.
func readWaiters(fields []string) (waiters []lockrt.Waiter) {
	for i := 0; i+1 < len(fields); i += 2 {
		if entry := strings.SplitN(fields[i+1], " ", 3); len(entry) == 3 {
			w := lockrt.Waiter{Node: entry[2]}
			w.ID, w.Mode, w.Permits = splitID(fields[i])
			waiters = append(waiters, w)
		}
	}
	return waiters
}
