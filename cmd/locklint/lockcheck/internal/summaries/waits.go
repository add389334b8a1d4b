package summaries

import (
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"time"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// This file answers whether code may wait. Yes is the answer in case of doubt: a loop that calls something unknown may
// well back off in there.

// busyPackages are packages whose functions do not wait for anything.
var busyPackages = regexp.MustCompile(`^(fmt|errors|strings|strconv|bytes|math|math/rand|math/rand/v2|` +
	`crypto/rand|sort|slices|maps|unicode|` +
	`unicode/utf8|log|log/slog|os|runtime|sync/atomic|reflect|encoding/[a-z0-9]+|context)$|(^|/)(uuid|xid|ksuid|` +
	`ulid|go-uuid|uuid\.v\d)(/v\d+)?$|` +
	`(^|/)(zap|logrus|zerolog|glog|klog|logx|seelog)(/v\d+|\.v\d+)?$`)

// logMethod marks methods of whatever logger a program has.
var logMethod = regexp.MustCompile(`^(Print|Debug|Info|Warn|Warning|Error|Err|Trace|Log)(f|ln|w|ctx|Ctx|` +
	`Context)?$|^(With|WithField|WithFields|WithError|Str|Msg|Msgf|Deadline|Value)$`)

// blockingCommand marks the commands of the clients that wait on the server's side.
var blockingCommand = regexp.MustCompile(`^(B[LRZ][A-Z]\w*|XRead\w*|Receive\w*|Subscribe|PSubscribe|Wait\w*|Channel)$`)

// shortestSleep is what counts as waiting: a lock is not released within a few microseconds.
const shortestSleep = time.Millisecond

// MayWait reports whether a function may wait, itself or in what it calls.
func (ix *Info) MayWait(fn *ssa.Function) bool {
	if waits, ok := ix.waiting[fn]; ok {
		return waits
	}
	ix.waiting[fn] = false // while it is looked at: recursion by itself is no waiting
	for _, b := range fn.Blocks {
		for _, instr := range b.Instrs {
			if ix.InstrMayWait(instr) {
				ix.waiting[fn] = true
				return true
			}
		}
	}
	return false
}

// InstrMayWait reports whether an instruction may wait.
func (ix *Info) InstrMayWait(instr ssa.Instruction) bool {
	switch instr := instr.(type) {
	case *ssa.UnOp:
		return instr.Op == token.ARROW
	case *ssa.Send:
		return true
	case *ssa.Select:
		return instr.Blocking
	case *ssa.Call:
		return ix.callMayWait(&instr.Call)
	}
	return false
}

func (ix *Info) callMayWait(call *ssa.CallCommon) bool {
	if _, ok := call.Value.(*ssa.Builtin); ok {
		return false
	}
	if fn := call.StaticCallee(); fn != nil && fn.Pkg == ix.Pkg && fn.Blocks != nil {
		return ix.MayWait(fn)
	}
	obj, args := ix.CalleeOf(call)
	switch {
	case obj == nil:
		return true
	case obj.Pkg() == nil:
		return false // error.Error
	case obj.Pkg() == ix.Pass.Pkg:
		fn := ix.Pkg.Prog.FuncValue(obj)
		return fn == nil || fn.Blocks == nil || ix.MayWait(fn)
	}
	switch clients.OfPackage(obj.Pkg()) {
	case clients.GoRedis, clients.Redigo, clients.Rueidis, clients.GoFrame, clients.GoZero:
		return blockingCommand.MatchString(obj.Name())
	case clients.Runtime:
		return true
	}
	if s := ix.summaryOf(obj); len(s) > 0 {
		return s[0].Waits
	}
	if obj.Pkg().Path() == "time" {
		return obj.Name() == "Sleep" && !(len(args) == 1 && naps(args[0]))
	}
	if call.IsInvoke() && logMethod.MatchString(obj.Name()) || isContextMethod(obj) || isStringer(obj) {
		return false
	}
	return !busyPackages.MatchString(clients.WithoutVendor(obj.Pkg().Path()))
}

// naps reports whether a Sleep is too short to be one, as Sleep(50) is: fifty nanoseconds.
func naps(d ssa.Value) bool {
	c, ok := ssax.ConstOf(d)
	if !ok || c.Kind() != constant.Int {
		return false
	}
	ns, exact := constant.Int64Val(c)
	return exact && ns < int64(shortestSleep)
}

// isStringer reports whether a method says what its receiver looks like.
func isStringer(fn *types.Func) bool {
	sig := fn.Signature()
	return fn.Name() == "String" && sig.Recv() != nil && sig.Params().Len() == 0 && sig.Results().Len() == 1
}

func isContextMethod(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && ssax.IsContext(recv.Type()) && strings.HasPrefix(fn.FullName(), "(context.Context)")
}
