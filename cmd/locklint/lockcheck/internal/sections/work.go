package sections

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// IsFresh reports whether a context is context.Background() or TODO(): mentioning it twice need not be an oversight.
func IsFresh(call *ssa.Call) bool {
	fn := call.Call.StaticCallee()
	return fn != nil && fn.Object() != nil && (ssax.CalleeName(fn) == "context.Background" ||
		ssax.CalleeName(fn) == "context.TODO")
}

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
	path := clients.WithoutVendor(pkg.Path())
	return idlePackages[path] || clients.Of(path).HandsOutLocks() ||
		slices.Contains(loggers, strings.ToLower(pkg.Name())) ||
		slices.ContainsFunc(idlePrefixes, func(p string) bool { return strings.HasPrefix(path, p) })
}

// IsWork reports whether a call does something that the lock may be there for. Function literals that are called on the
// spot are judged by their own calls.
func IsWork(c *ssa.CallCommon) bool {
	if _, builtin := c.Value.(*ssa.Builtin); builtin || ssax.Literal(c) != nil {
		return false
	}
	m, ok := ssax.MethodOf(c)
	if !ok {
		return !isFinish(c)
	}
	if m.Recv != nil && isLogger(m.Recv.Type()) {
		return false
	}
	return !isIdlePackage(m.Obj.Pkg())
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

// WorkIn returns the calls of a set that are work, in source order.
func WorkIn(set map[ssa.Instruction]bool) []ssa.CallInstruction {
	var list []ssa.CallInstruction
	for instr := range set {
		call, ok := instr.(ssa.CallInstruction)
		if ok && IsWork(call.Common()) {
			list = append(list, call)
		}
	}
	ssax.SortCalls(list)
	return list
}
