package lockcheck

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// What a critical section does: the checks of paths tell work, which the lock is there for, from logging, arithmetic
// and the handling of the lock itself.

// idlePackages are packages whose functions neither touch what locks protect nor panic on their own.
var idlePackages = map[string]bool{
	"bytes": true, "cmp": true, "context": true, "errors": true, "fmt": true, "log": true, "log/slog": true,
	"maps": true, "math": true, "math/rand": true, "math/rand/v2": true, "runtime": true, "runtime/debug": true,
	"slices": true, "sort": true, "strconv": true, "strings": true, "sync": true, "sync/atomic": true,
	"testing": true, "time": true, "unicode": true, "unicode/utf8": true,
	"github.com/google/uuid": true, "github.com/pkg/errors": true,
}

// idlePrefixes are the logging, tracing and metrics libraries.
var idlePrefixes = []string{
	"go.uber.org/zap", "github.com/sirupsen/logrus", "github.com/rs/zerolog", "github.com/golang/glog", "k8s.io/klog",
	"go.opentelemetry.io/otel", "github.com/prometheus/client_golang", "github.com/go-logr/logr",
	"github.com/charmbracelet/log",
}

// loggers are how programs call the packages and types that log.
var loggers = []string{"log", "logger", "logging", "logs", "zlog", "glog", "slog", "logx", "xlog"}

// isIdlePackage reports whether a package only looks, computes or logs.
func isIdlePackage(pkg *types.Package) bool {
	if pkg == nil {
		return true // the method of error
	}
	path := withoutVendor(pkg.Path())
	return idlePackages[path] || clientOf(path) >= lockRuntime && clientOf(path) <= rueidislock ||
		slices.Contains(loggers, strings.ToLower(pkg.Name())) ||
		slices.ContainsFunc(idlePrefixes, func(p string) bool { return strings.HasPrefix(path, p) })
}

// isWork reports whether a call does something that the lock may be there for. Function literals that are called on the
// spot are judged by their own calls.
func isWork(c *ssa.CallCommon) bool {
	if _, builtin := c.Value.(*ssa.Builtin); builtin || literal(c) != nil {
		return false
	}
	m, ok := methodOf(c)
	if !ok {
		return !isFinish(c)
	}
	if m.recv != nil && isLogger(m.recv.Type()) {
		return false
	}
	return !isIdlePackage(m.obj.Pkg())
}

// isFinish reports whether a function value is a cancel function or the like.
func isFinish(c *ssa.CallCommon) bool {
	sig, ok := c.Value.Type().Underlying().(*types.Signature)
	return ok && sig.Params().Len() == 0 && sig.Results().Len() == 0
}

// isLogger reports whether a type is somebody's logger, by its name.
func isLogger(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return false
	}
	name := strings.ToLower(n.Obj().Name())
	return slices.Contains(loggers, name) || strings.HasSuffix(name, "logger")
}

// workIn returns the calls of a set that are work, in source order.
func workIn(set map[ssa.Instruction]bool) []ssa.CallInstruction {
	var list []ssa.CallInstruction
	for instr := range set {
		call, ok := instr.(ssa.CallInstruction)
		if ok && isWork(call.Common()) {
			list = append(list, call)
		}
	}
	sortCalls(list)
	return list
}

// sortCalls puts calls in source order.
func sortCalls(list []ssa.CallInstruction) {
	slices.SortFunc(list, func(a, b ssa.CallInstruction) int { return cmp.Compare(a.Common().Pos(), b.Common().Pos()) })
}

// callsOf are the keys of a set of calls in source order.
func callsOf(set map[ssa.CallInstruction]bool) []ssa.CallInstruction {
	var list []ssa.CallInstruction
	for call := range set {
		list = append(list, call)
	}
	sortCalls(list)
	return list
}

// callText is what a call calls, as it stands in the source.
func (r *reporter) callText(call ssa.CallInstruction) string {
	if x := r.index.callExpr(call); x != nil {
		if text := string(r.source(x.Fun)); text != "" && len(text) <= maxCondition && !strings.Contains(text, "\n") {
			return text
		}
	}
	if fn := call.Common().StaticCallee(); fn != nil {
		return calleeShort(fn)
	}
	return "a call"
}

// callSpan is the source range of a call.
func (r *reporter) callSpan(call ssa.CallInstruction) (pos, end token.Pos) {
	if x := r.index.callExpr(call); x != nil {
		return x.Pos(), x.End()
	}
	return call.Common().Pos(), call.Common().Pos()
}

// exitCalls end the process without running what is deferred.
var exitCalls = map[string]bool{
	"os.Exit": true, "syscall.Exit": true,
	"log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"(*log.Logger).Fatal": true, "(*log.Logger).Fatalf": true, "(*log.Logger).Fatalln": true,
	"github.com/sirupsen/logrus.Fatal": true, "github.com/sirupsen/logrus.Fatalf": true,
	"github.com/sirupsen/logrus.Fatalln": true,
	"(*go.uber.org/zap.Logger).Fatal":    true, "(*go.uber.org/zap.SugaredLogger).Fatal": true,
	"(*go.uber.org/zap.SugaredLogger).Fatalf": true, "(*go.uber.org/zap.SugaredLogger).Fatalw": true,
}

// isExit reports whether a call ends the process.
func isExit(c *ssa.CallCommon) bool {
	fn := c.StaticCallee()
	return fn != nil && fn.Object() != nil && exitCalls[calleeName(fn)]
}

// listAround returns the statements of the block that holds a node as a statement of its own, or inside one, and the
// index of that statement. Nil if there is none, or if a loop lies between the function and the block.
func (r *reporter) listAround(n ast.Node) (list []ast.Stmt, at int) {
	for _, outer := range r.pathTo(n) {
		if list = statements(outer); list == nil {
			continue
		}
		for i, s := range list {
			if s.Pos() <= n.Pos() && n.End() <= s.End() {
				return list, i
			}
		}
		return nil, 0
	}
	return nil, 0
}
