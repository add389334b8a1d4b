//go:build !unix

package testenv

import "errors"

func (p *process) pause() error  { return errors.ErrUnsupported }
func (p *process) resume() error { return errors.ErrUnsupported }

func (s *sqlServer) pauseAll() error  { return errors.ErrUnsupported }
func (s *sqlServer) resumeAll() error { return errors.ErrUnsupported }
