//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// account is the user that a server runs as where root starts it: database
// servers refuse to run as root. nil stands for the user we are.
type account struct{ credential syscall.Credential }

// serverAccount returns the first of the named users that exists, or nobody;
// nil where we are not root, or cannot change the user at all.
func serverAccount(names ...string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	names = append(names, "nobody")
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("testenv: read the ids of user %s: %w", name, err)
		}
		return &account{syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, fmt.Errorf("testenv: a database server does not run as root, and there is no user %s", strings.Join(names, " or "))
}

func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.credential.Uid), int(a.credential.Gid))
}

// run makes cmd run as the account.
func (a *account) run(cmd *exec.Cmd) {
	if a == nil {
		return
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &a.credential
}
