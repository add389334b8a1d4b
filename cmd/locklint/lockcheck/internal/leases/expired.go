package leases

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file finds where a program looks at the clock and sees that the lock is over.

// saysExpired reports whether nothing is left of the time to live of the lease where a condition has an outcome.
func saysExpired(s *pathState, cond ssa.Value, outcome bool) bool {
	switch cond := cond.(type) {
	case *ssa.BinOp:
		x, y, op := cond.X, cond.Y, cond.Op
		if ssax.IntOf(x) == 0 {
			x, y, op = y, x, mirrored[op]
		}
		if !outcome {
			op = opposite[op]
		}
		return ssax.IntOf(y) == 0 && (isLeft(s, x) && (op == token.EQL || op == token.LEQ || op == token.LSS) ||
			isSince(s, x) && (op == token.GTR || op == token.GEQ))
	case *ssa.Call:
		return comparesEnd(s, &cond.Call, outcome)
	}
	return false
}

// isLeft reports whether a duration is what is left of a lease: its TTL, or the time until its end.
func isLeft(s *pathState, v ssa.Value) bool {
	call := callOf(v)
	return call != nil && (asksLease(s, call, "TTL") || isTimeOf(s, call, "time.Until"))
}

// isSince reports whether a duration is the time since the end of a lease.
func isSince(s *pathState, v ssa.Value) bool {
	call := callOf(v)
	return call != nil && isTimeOf(s, call, "time.Since")
}

func isTimeOf(s *pathState, call *ssa.Call, name string) bool {
	fn := call.Call.StaticCallee()
	return fn != nil && ssax.CalleeName(fn) == name && isEnd(s, call.Call.Args[0])
}

// comparesEnd reports whether a comparison of the time with the end of a lease says that it is over.
func comparesEnd(s *pathState, c *ssa.CallCommon, outcome bool) bool {
	m, ok := ssax.MethodOf(c)
	if !ok || m.Recv == nil || m.Obj.Pkg().Path() != "time" {
		return false
	}
	switch m.Obj.Name() {
	case "After":
		return outcome && isNow(m.Recv) && isEnd(s, m.Arg(0)) || !outcome && isEnd(s, m.Recv) && isNow(m.Arg(0))
	case "Before":
		return outcome && isEnd(s, m.Recv) && isNow(m.Arg(0)) || !outcome && isNow(m.Recv) && isEnd(s, m.Arg(0))
	}
	return false
}

// isEnd reports whether a time is that at which a lease ends.
func isEnd(s *pathState, v ssa.Value) bool {
	call := callOf(v)
	return call != nil && asksLease(s, call, "Until")
}

func isNow(v ssa.Value) bool {
	call := callOf(v)
	return call != nil && call.Call.StaticCallee() != nil && ssax.CalleeName(call.Call.StaticCallee()) == "time.Now"
}

var (
	mirrored = map[token.Token]token.Token{
		token.EQL: token.EQL, token.NEQ: token.NEQ, token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ,
		token.GEQ: token.LEQ,
	}
	opposite = map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ,
		token.LEQ: token.GTR,
	}
)
