//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func canMount() bool { return false }

func tinydisk(ts *testscript.TestScript, neg bool, args []string) { ts.Fatalf("only on Linux") }

func fill(ts *testscript.TestScript, neg bool, args []string) { ts.Fatalf("only on Linux") }

func readonly(ts *testscript.TestScript, neg bool, args []string) { ts.Fatalf("only on Linux") }
