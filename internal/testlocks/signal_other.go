//go:build !unix

package testlocks

import (
	"errors"
	"os"
)

func pause(*os.Process) error  { return errors.ErrUnsupported }
func resume(*os.Process) error { return errors.ErrUnsupported }
