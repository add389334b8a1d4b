package lockcheck

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// Limits of a summary. A function beyond them is a data layer, not a lock; it gets no summary at all.
const (
	maxSummary = 12 // commands in a summary
	maxRounds  = 6  // calls deep within one package
)

// collectCommands finds the commands of every declared function: its own, those in its function literals, and those
// that the functions it calls issue on its behalf. The last kind needs summaries, and these need the commands, hence
// the rounds until nothing changes.
func (ix *index) collectCommands() {
	for _, fn := range ix.funcs {
		if fn.Parent() == nil {
			ix.commands[fn] = ix.ownCommands(fn)
			ix.summaries[fn] = summarise(fn, ix.commands[fn])
		}
	}
	for range maxRounds {
		changed := false
		for _, fn := range ix.funcs {
			if fn.Parent() != nil {
				continue
			}
			cmds := append(ix.ownCommands(fn), ix.calledCommands(fn)...)
			changed = changed || len(cmds) != len(ix.commands[fn])
			ix.commands[fn] = cmds
			ix.summaries[fn] = summarise(fn, cmds)
		}
		if !changed {
			break
		}
	}
	ix.own = nil
}

// ownCommands are the commands that a function and its literals issue themselves.
func (ix *index) ownCommands(fn *ssa.Function) []*command {
	if cmds, ok := ix.own[fn]; ok {
		return append([]*command(nil), cmds...)
	}
	var cmds []*command
	eachCall(fn, func(call ssa.CallInstruction) { cmds = append(cmds, commandsOf(call)...) })
	ix.own[fn] = cmds
	return append([]*command(nil), cmds...)
}

// calledCommands are the commands that a function issues through others.
func (ix *index) calledCommands(fn *ssa.Function) []*command {
	var cmds []*command
	eachCall(fn, func(call ssa.CallInstruction) {
		callee := call.Common().StaticCallee()
		if callee == nil || callee.Parent() != nil || callee == fn {
			return
		}
		if o := callee.Origin(); o != nil {
			callee = o
		}
		summary := ix.summaryOf(callee)
		if len(summary) == 0 {
			return
		}
		var args []keyExpr
		for _, a := range call.Common().Args {
			args = append(args, keyOf(a))
		}
		for _, s := range summary {
			key := s.Key.bind(args)
			if !key.known() || key.depth() > maxKeyDepth {
				continue
			}
			cmds = append(cmds, &command{
				op: s.Op, name: s.Name, key: key, ttl: s.TTL.bind(args), pipe: s.Pipe, judged: s.Judged,
				reply: replyOf(s), result: s.Outcome, call: call, fn: fn, via: calleeShort(callee), origin: s.origin,
			})
		}
	})
	return cmds
}

// summaryOf returns what is known of a function of this package or, from its fact, of another.
func (ix *index) summaryOf(fn *ssa.Function) []summaryCommand {
	if fn.Pkg == ix.pkg {
		return ix.summaries[fn]
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok || obj.Pkg() == nil || clientOfPackage(obj.Pkg()) != notClient {
		return nil
	}
	var f summaryFact
	if !ix.pass.ImportObjectFact(obj, &f) {
		return nil
	}
	return f.Commands
}

// summarise keeps what a caller can use: commands on keys made of parameters, constants and package variables.
func summarise(fn *ssa.Function, cmds []*command) []summaryCommand {
	var out []summaryCommand
	for _, c := range cmds {
		if !c.key.portable() {
			continue
		}
		s := summaryCommand{Op: c.op, Name: c.name, Key: c.key, TTL: c.ttl, Pipe: c.pipe, Judged: c.judged, Outcome: -1, origin: c}
		if c.op == opAcquire {
			s.Outcome = outcomeResult(fn, c)
		}
		if !s.TTL.portable() {
			s.TTL = keyExpr{}
		}
		if !containsCommand(out, s) {
			out = append(out, s)
		}
	}
	if len(out) > maxSummary {
		return nil
	}
	return out
}

func containsCommand(list []summaryCommand, s summaryCommand) bool {
	for _, o := range list {
		if o.Op == s.Op && o.Name == s.Name && o.Judged == s.Judged && o.Key.String() == s.Key.String() {
			return true
		}
	}
	return false
}

// exportSummaries hands the summaries to importing packages. It runs after the locks of this package are known, so
// that importers do not report them again.
func (ix *index) exportSummaries() {
	for fn, cmds := range ix.commands {
		obj, ok := fn.Object().(*types.Func)
		if !ok || obj.Pkg() != ix.pass.Pkg {
			continue
		}
		for _, c := range cmds {
			c.judged = c.root().judged
		}
		if s := summarise(fn, cmds); len(s) > 0 {
			ix.pass.ExportObjectFact(obj, &summaryFact{s})
			ix.carrier = true
		}
	}
}

// eachCall visits the calls of a function and of its literals.
func eachCall(fn *ssa.Function, visit func(ssa.CallInstruction)) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if call, ok := instr.(ssa.CallInstruction); ok {
				visit(call)
			}
		}
	}
	for _, lit := range fn.AnonFuncs {
		eachCall(lit, visit)
	}
}

// calleeShort names a function the way people do: Type.Method or Func.
func calleeShort(fn *ssa.Function) string {
	if recv := fn.Signature.Recv(); recv != nil {
		t := recv.Type()
		if p, ok := types.Unalias(t).(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok {
			return n.Obj().Name() + "." + fn.Name()
		}
	}
	return fn.Name()
}

// replyOf says where a caller finds the outcome of a summarised acquire.
func replyOf(s summaryCommand) reply {
	if s.Op == opAcquire && s.Outcome >= 0 {
		return replyResult
	}
	return replyUnknown
}
