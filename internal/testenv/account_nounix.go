//go:build !unix

package testenv

import "os/exec"

// account: only unix knows root, whom database servers refuse to run as.
type account struct{}

func serverAccount(...string) (*account, error) { return nil, nil }

func (*account) own(string) error { return nil }
func (*account) run(*exec.Cmd)    {}
