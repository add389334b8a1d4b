package files

import (
	"bytes"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// abandoned is the age from which a temporary file belongs to a run that has ended, whoever ran it.
const abandoned = time.Hour

// CreateTemp makes a temporary file beside the one it will replace. Its name starts with prefix and says which process of
// which host made it, so that a later run can tell whether that one was killed.
func CreateTemp(dir, prefix string) (*os.File, error) {
	return os.CreateTemp(dir, prefix+host()+"_"+strconv.Itoa(os.Getpid())+"_*")
}

// host tells this system from others that write to the same disk, and from itself before the last boot.
func host() string {
	h := fnv.New32a()
	name, _ := os.Hostname()
	h.Write([]byte(name))
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		h.Write(boot)
	}
	if ns, err := os.Readlink("/proc/self/ns/pid"); err == nil { // process ids are those of a container
		h.Write([]byte(ns))
	}
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// Leftover tells whether a file is one that CreateTemp made for a run that was killed: its name and its first bytes are
// ours, and its process is dead, or it is old.
func Leftover(path, prefix string, first []byte) bool {
	rest, ok := strings.CutPrefix(filepath.Base(path), prefix)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "_")
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 || pid == os.Getpid() {
		return false
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > MaxSize {
		return false
	}
	if time.Since(info.ModTime()) < abandoned && (parts[0] != host() || !dead(pid)) {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && (bytes.HasPrefix(text, first) || bytes.HasPrefix(first, text))
}
