//go:build !linux

package testenv

import "syscall"

// childAttributes: only Linux can tie a child's life to its parent's.
func childAttributes() *syscall.SysProcAttr { return nil }

// childrenOf: only Linux tells in /proc.
func childrenOf(int) []int { return nil }
