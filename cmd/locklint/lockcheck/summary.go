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

// summaries are the commands of a package and what its functions do for their callers.
type summaries struct {
	*program
	commands map[*ssa.Function][]*command // by declared function, those of its literals included
	byFunc   map[*ssa.Function][]summaryCommand
	own      map[*ssa.Function][]*command // cache while commands are collected
	called   map[calledKey]*command       // the same
	waiting  map[*ssa.Function]bool
}

func newSummaries(p *program) *summaries {
	return &summaries{
		program:  p,
		commands: map[*ssa.Function][]*command{},
		byFunc:   map[*ssa.Function][]summaryCommand{},
		own:      map[*ssa.Function][]*command{},
		called:   map[calledKey]*command{},
		waiting:  map[*ssa.Function]bool{},
	}
}

// collectCommands finds the commands of every declared function: its own, those in its function literals, and those
// that the functions it calls issue on its behalf. The last kind needs summaries, and these need the commands, hence
// the rounds until nothing changes.
func (ix *summaries) collectCommands() {
	for _, fn := range ix.funcs {
		if fn.Parent() == nil {
			ix.commands[fn] = ix.ownCommands(fn)
			ix.byFunc[fn] = ix.summarise(fn, ix.commands[fn])
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
			ix.byFunc[fn] = ix.summarise(fn, cmds)
		}
		if !changed {
			break
		}
	}
	ix.own, ix.called = nil, nil
}

// ownCommands are the commands that a function and its literals issue themselves.
func (ix *summaries) ownCommands(fn *ssa.Function) []*command {
	if cmds, ok := ix.own[fn]; ok {
		return append([]*command(nil), cmds...)
	}
	var cmds []*command
	eachCall(fn, func(call ssa.CallInstruction) { cmds = append(cmds, commandsOf(call)...) })
	ix.own[fn] = cmds
	return append([]*command(nil), cmds...)
}

// calledCommands are the commands that a function issues through others.
func (ix *summaries) calledCommands(fn *ssa.Function) []*command {
	var cmds []*command
	eachCall(fn, func(call ssa.CallInstruction) {
		callee, values := ix.calleeOf(call.Common())
		if callee == nil || callee == fn.Object() {
			return
		}
		summary := ix.summaryOf(callee)
		if len(summary) == 0 {
			return
		}
		var args []keyExpr
		for _, v := range values {
			args = append(args, keyOf(v))
		}
		for _, s := range summary {
			key := s.Key.bind(args)
			if !key.known() || key.depth() > maxKeyDepth {
				continue
			}
			if s.origin == nil && s.Value.Op == keyLit {
				s.Value = keyExpr{} // chosen by another package: nothing that could be mended here
			}
			c := ix.calledCommand(call, s)
			*c = command{
				op: s.Op, name: s.Name, key: key, value: s.Value.bind(args), ttl: s.TTL.bind(args), unit: s.Unit,
				pipe: s.Pipe, compares: s.Compares, waits: s.Waits, judged: s.Judged, reply: replyOf(s), result: s.Outcome,
				call: call, fn: fn, via: shortName(callee), origin: s.origin,
			}
			cmds = append(cmds, c)
		}
	})
	return cmds
}

// calledCommand is the object for a command that a call issues through another function. It stays the same in all
// rounds, because it may be the origin of others.
func (ix *summaries) calledCommand(call ssa.CallInstruction, s summaryCommand) *command {
	key := calledKey{call, s.Op, s.Name, s.Key.String(), s.Judged}
	if ix.called[key] == nil {
		ix.called[key] = new(command)
	}
	return ix.called[key]
}

// A calledKey names a command by the call and by what makes it different from the others of a summary.
type calledKey struct {
	call      ssa.CallInstruction
	op        op
	name, key string
	judged    bool
}

// calleeOf returns the function or method that a call runs and what it is given, the receiver first. Nil if nobody
// knows.
func (ix *program) calleeOf(call *ssa.CallCommon) (callee *types.Func, args []ssa.Value) {
	if call.IsInvoke() {
		callee, args = call.Method, append([]ssa.Value{call.Value}, call.Args...)
		if impl := ix.implementation(callee); impl != nil {
			callee = impl
		}
		return callee, args
	}
	fn := call.StaticCallee()
	if fn == nil {
		return nil, nil
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	callee, _ = fn.Object().(*types.Func)
	return callee, call.Args
}

// summaryOf returns what is known of a function of this package or, from its fact, of another.
func (ix *summaries) summaryOf(fn *types.Func) []summaryCommand {
	if fn.Pkg() == ix.pass.Pkg {
		return ix.byFunc[ix.pkg.Prog.FuncValue(fn)]
	}
	if fn.Pkg() == nil || clientOfPackage(fn.Pkg()) != notClient {
		return nil
	}
	var f summaryFact
	if !ix.pass.ImportObjectFact(fn, &f) {
		return nil
	}
	return f.Commands
}

// summarise keeps what a caller can use: commands on keys made of parameters, constants and package variables.
func (ix *summaries) summarise(fn *ssa.Function, cmds []*command) []summaryCommand {
	var out []summaryCommand
	for _, c := range cmds {
		if !c.key.portable() {
			continue
		}
		s := summaryCommand{
			Op: c.op, Name: c.name, Key: c.key, Value: c.value, TTL: c.ttl, Unit: c.unit, Pipe: c.pipe,
			Compares: c.compares, Waits: ix.mayWait(fn), Judged: c.judged, Outcome: -1, origin: c,
		}
		if c.op == opAcquire {
			s.Outcome = outcomeResult(fn, c)
		}
		if !s.TTL.portable() {
			s.TTL = keyExpr{}
		}
		if !s.Value.portable() {
			s.Value = keyExpr{}
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
func (ix *summaries) exportSummaries() {
	for fn, cmds := range ix.commands {
		obj, ok := fn.Object().(*types.Func)
		if !ok || obj.Pkg() != ix.pass.Pkg {
			continue
		}
		for _, c := range cmds {
			c.judged = c.root().judged
		}
		if s := ix.summarise(fn, cmds); len(s) > 0 {
			ix.byFunc[fn] = s
			ix.pass.ExportObjectFact(obj, &summaryFact{s})
			ix.carrier = true
		}
	}
	ix.exportInterfaces()
}

// eachCall visits the calls of a function and of its literals.
func eachCall(fn *ssa.Function, visit func(ssa.CallInstruction)) {
	eachInstr(fn, func(instr ssa.Instruction) {
		if call, ok := instr.(ssa.CallInstruction); ok {
			visit(call)
		}
	})
}

// eachInstr visits the instructions of a function and of its literals.
func eachInstr(fn *ssa.Function, visit func(ssa.Instruction)) {
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			visit(instr)
		}
	}
	for _, lit := range fn.AnonFuncs {
		eachInstr(lit, visit)
	}
}

// calleeShort names a function the way people do: Type.Method or Func.
func calleeShort(fn *ssa.Function) string {
	if obj, ok := fn.Object().(*types.Func); ok {
		return shortName(obj)
	}
	return fn.Name()
}

// shortName is calleeShort for a function that has no SSA form here.
func shortName(fn *types.Func) string {
	if recv := fn.Signature().Recv(); recv != nil {
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
