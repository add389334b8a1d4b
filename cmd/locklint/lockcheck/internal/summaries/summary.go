// Package summaries knows which Redis commands functions issue for their callers, also across packages.
package summaries

import (
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/keyexpr"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ops"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/program"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/rediscmd"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// Limits of a summary. A function beyond them is a data layer, not a lock; it gets no summary at all.
const (
	maxSummary = 12 // commands in a summary
	maxRounds  = 6  // calls deep within one package
)

// Info are the commands of a package and what its functions do for their callers.
type Info struct {
	*program.Package
	Commands map[*ssa.Function][]*rediscmd.Command // by declared function, those of its literals included
	byFunc   map[*ssa.Function][]Command
	own      map[*ssa.Function][]*rediscmd.Command // cache while commands are collected
	called   map[calledKey]*rediscmd.Command       // the same
	waiting  map[*ssa.Function]bool
	handsOn  map[*types.Func]*rediscmd.Forward
}

// New is empty until CollectCommands has run.
func New(p *program.Package) *Info {
	return &Info{
		Package:  p,
		Commands: map[*ssa.Function][]*rediscmd.Command{},
		byFunc:   map[*ssa.Function][]Command{},
		own:      map[*ssa.Function][]*rediscmd.Command{},
		called:   map[calledKey]*rediscmd.Command{},
		waiting:  map[*ssa.Function]bool{},
		handsOn:  map[*types.Func]*rediscmd.Forward{},
	}
}

// CollectCommands finds the commands of every declared function: its own, those in its function literals, and those
// that the functions it calls issue on its behalf. The last kind needs summaries, and these need the commands, hence
// the rounds until nothing changes.
func (ix *Info) CollectCommands() {
	for _, fn := range ix.Funcs {
		if fn.Parent() == nil {
			ix.Commands[fn] = ix.ownCommands(fn)
			ix.byFunc[fn] = ix.summarise(fn, ix.Commands[fn])
		}
	}
	for range maxRounds {
		changed := false
		for _, fn := range ix.Funcs {
			if fn.Parent() != nil {
				continue
			}
			cmds := ix.ownCommands(fn)
			ix.hearAnswers(cmds)
			cmds = append(cmds, ix.calledCommands(fn)...)
			changed = changed || len(cmds) != len(ix.Commands[fn])
			ix.Commands[fn] = cmds
			ix.byFunc[fn] = ix.summarise(fn, cmds)
		}
		if !changed {
			break
		}
	}
	ix.own, ix.called = nil, nil
}

// ownCommands are the commands that a function and its literals issue themselves.
func (ix *Info) ownCommands(fn *ssa.Function) []*rediscmd.Command {
	if cmds, ok := ix.own[fn]; ok {
		return append([]*rediscmd.Command(nil), cmds...)
	}
	var cmds []*rediscmd.Command
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		of := rediscmd.Of(call)
		if f := ix.forwards(call.Common()); f != nil && of == nil {
			of = f.Through(call)
		}
		cmds = append(cmds, of...)
	})
	ix.own[fn] = cmds
	return append([]*rediscmd.Command(nil), cmds...)
}

// hearAnswers corrects where the answers of acquires through interfaces arrive: a SetNX that returns a bool and an error
// may refuse with either, and what stands behind the interface knows.
func (ix *Info) hearAnswers(cmds []*rediscmd.Command) {
	for _, c := range cmds {
		if c.Op != ops.Acquire || c.Reply != rediscmd.ReplyResult || !c.Call.Common().IsInvoke() {
			continue
		}
		callee, _ := ix.CalleeOf(c.Call.Common())
		for _, s := range ix.summaryOf(callee) {
			if s.Op == ops.Acquire {
				c.Reply, c.Result = replyOf(s), max(s.Outcome, 0)
				break
			}
		}
	}
}

// calledCommands are the commands that a function issues through others.
func (ix *Info) calledCommands(fn *ssa.Function) []*rediscmd.Command {
	var cmds []*rediscmd.Command
	ssax.EachCall(fn, func(call ssa.CallInstruction) {
		callee, values := ix.CalleeOf(call.Common())
		if callee == nil || callee == fn.Object() || ix.forwardOf(callee) != nil {
			return
		}
		summary := ix.summaryOf(callee)
		if len(summary) == 0 || callee.Pkg() != ix.Pass.Pkg && rediscmd.Of(call) != nil {
			return
		}
		var args []keyexpr.Expr
		for _, v := range values {
			args = append(args, keyexpr.Of(v))
		}
		for _, s := range summary {
			keys, gathered := keysOf(s.Key, args, values)
			for i, key := range keys {
				if key = key.Within(keyexpr.MaxDepth); !key.Known() {
					continue
				}
				fixed := s.origin == nil && s.Value.Op == keyexpr.Lit
				if fixed {
					s.Value = keyexpr.Expr{} // chosen by another package: nothing that could be mended here
				}
				c, ttl := ix.calledCommand(call, s, i), s.TTL.Bind(args)
				*c = rediscmd.Command{
					Op: s.Op, Name: s.Name, Key: key, Value: s.Value.Bind(args), TTL: ttl, Unit: s.Unit,
					Pipe: s.Pipe, Compares: s.Compares, Ended: s.Ended, Leased: s.Leased, Forced: s.Forced, Guarded: s.Guarded || gathered, Waits: s.Waits, Detached: s.Detached,
					Judged: s.Judged, Reply: replyOf(s), Result: s.Outcome, Call: call, Fn: fn, Via: ssax.ShortName(callee), Origin: s.origin,
					Elsewhere: s.origin == nil && s.Judged, Fixed: fixed,
					GivenTTL: s.TTL.Op != keyexpr.Lit && ttl.Op == keyexpr.Lit,
				}
				cmds = append(cmds, c)
			}
		}
	})
	return cmds
}

// keysOf are the keys that a command of a summary works on: one, or one for each element of a list that is written out or
// gathered by the function, which then has put there what it has.
func keysOf(key keyexpr.Expr, args []keyexpr.Expr, values []ssa.Value) (keys []keyexpr.Expr, gathered bool) {
	param := key.ListParam()
	i, err := strconv.Atoi(param)
	if param == "" || err != nil || i >= len(values) {
		return []keyexpr.Expr{key.Bind(args)}, false
	}
	var elements []keyexpr.Expr
	if elems, ok := ssax.Variadic(values[i]); ok {
		for _, e := range elems {
			elements = append(elements, keyexpr.Of(e))
		}
	} else if elements, gathered = keyexpr.Elements(values[i]); !gathered {
		return []keyexpr.Expr{key.Bind(args)}, false
	}
	for _, e := range elements {
		bound := key.Element(param, keyexpr.Expr{Op: keyexpr.Param, Text: strconv.Itoa(len(args))})
		keys = append(keys, bound.Bind(append(slices.Clone(args), e)))
	}
	return keys, gathered
}

// calledCommand is the object for a command that a call issues through another function. It stays the same in all
// rounds, because it may be the origin of others.
func (ix *Info) calledCommand(call ssa.CallInstruction, s Command, element int) *rediscmd.Command {
	key := calledKey{call, s.Op, s.Name, s.Key.String(), s.Judged, element}
	if ix.called[key] == nil {
		ix.called[key] = new(rediscmd.Command)
	}
	return ix.called[key]
}

// A calledKey names a command by the call and by what makes it different from the others of a summary.
type calledKey struct {
	call      ssa.CallInstruction
	op        ops.Op
	name, key string
	judged    bool
	element   int // of a list of keys
}

// Of returns the commands that a function issues for its callers, one of this package or, by its fact, of another.
func (ix *Info) Of(fn *types.Func) []Command { return ix.summaryOf(fn) }

// summaryOf returns what is known of a function of this package or, from its fact, of another.
func (ix *Info) summaryOf(fn *types.Func) []Command {
	if fn.Pkg() == ix.Pass.Pkg && !program.IsInterface(fn) {
		return ix.byFunc[ix.Pkg.Prog.FuncValue(fn)]
	}
	if fn.Pkg() == nil || clients.OfPackage(fn.Pkg()) != clients.None {
		return nil
	}
	var f Fact
	if !ix.Pass.ImportObjectFact(fn, &f) {
		return nil
	}
	return f.Commands
}

// forwards is the Forward of the function that a call runs, nil if it hands nothing on.
func (ix *Info) forwards(call *ssa.CallCommon) *rediscmd.Forward {
	callee, _ := ix.CalleeOf(call)
	if callee == nil {
		return nil
	}
	return ix.forwardOf(callee)
}

// forwardOf is what a function of this package or, from its fact, of another hands on to a client.
func (ix *Info) forwardOf(fn *types.Func) *rediscmd.Forward {
	if f, ok := ix.handsOn[fn]; ok {
		return f
	}
	ix.handsOn[fn] = nil // while it is looked at: recursion is not followed
	switch {
	case fn.Pkg() == ix.Pass.Pkg && !program.IsInterface(fn):
		if of := ix.Pkg.Prog.FuncValue(fn); of != nil {
			ix.handsOn[fn] = rediscmd.ForwardOf(of, ix.forwards)
		}
	case fn.Pkg() != nil && clients.OfPackage(fn.Pkg()) == clients.None:
		var f Fact
		if ix.Pass.ImportObjectFact(fn, &f) {
			ix.handsOn[fn] = f.Forward
		}
	}
	return ix.handsOn[fn]
}

// ExportSummaries hands the summaries to importing packages. It runs after the locks of this package are known, so
// that importers do not report them again.
func (ix *Info) ExportSummaries() {
	for fn, cmds := range ix.Commands {
		obj, ok := fn.Object().(*types.Func)
		if !ok || obj.Pkg() != ix.Pass.Pkg {
			continue
		}
		if f := (Fact{ix.summarise(fn, cmds), ix.forwardOf(obj)}); f.says() {
			ix.byFunc[fn] = f.Commands
			ix.Pass.ExportObjectFact(obj, &f)
			ix.Carrier = true
		}
	}
	ix.exportInterfaces()
}

// replyOf says where a caller finds the outcome of a summarised acquire.
func replyOf(s Command) rediscmd.Reply {
	switch {
	case s.Op == ops.Acquire && s.ByError:
		return rediscmd.ReplyError
	case s.Op == ops.Acquire && s.Outcome >= 0:
		return rediscmd.ReplyResult
	}
	return rediscmd.ReplyUnknown
}
