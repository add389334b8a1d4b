package rediscmd

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/ssax"
)

// goRedisPipe says whether the receiver queues commands, and whether between MULTI and EXEC.
func goRedisPipe(m ssax.Method) Pipe {
	switch clients.Named(m.Recv.Type(), clients.GoRedis) {
	case "Pipeliner", "Pipeline":
	default:
		if makerOf(m.Recv) == "" && !isPipeline(m.Recv.Type()) {
			return Direct
		}
	}
	if strings.HasPrefix(makerOf(m.Recv), "Tx") {
		return InMulti
	}
	return Pipelined
}

// isPipeline reports whether a type is an interface of the program's own over a pipeline.
func isPipeline(t types.Type) bool {
	iface, ok := t.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	sends, discards := false, false
	for m := range iface.Methods() {
		sends = sends || m.Name() == "Exec"
		discards = discards || m.Name() == "Discard"
	}
	return sends && discards
}

// makerOf names the method that made a pipeline: the call that returned it, or the call whose function literal
// receives it.
func makerOf(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.Call:
		if m, ok := ssax.MethodOf(&v.Call); ok && clients.OfPackage(m.Obj.Pkg()) == clients.GoRedis {
			if strings.HasSuffix(m.Obj.Name(), "Pipeline") {
				return pipeName(m)
			}
		}
	case *ssa.Parameter:
		if name := passedTo(v.Parent()); strings.HasSuffix(name, "Pipelined") {
			return name
		}
	case *ssa.UnOp:
		switch addr := ssax.CellOf(v.X).(type) {
		case *ssa.Alloc:
			if stored, ok := ssax.OnlyStore(addr); ok {
				return makerOf(stored)
			}
		case *ssa.FieldAddr: // a method of an embedded field
			return makerOf(addr.X)
		}
	}
	return ""
}

// pipeName is the name of a method. Up to version 6 of go-redis the pipelines of a Tx are transactions.
func pipeName(m ssax.Method) string {
	name := m.Obj.Name()
	if m.Recv != nil && clients.Named(m.Recv.Type(), clients.GoRedis) == "Tx" && strings.HasPrefix(name, "Pipeline") &&
		isOldGoRedis(m.Obj.Pkg()) {
		return "Tx" + name
	}
	return name
}

func isOldGoRedis(pkg *types.Package) bool {
	path := clients.WithoutVendor(pkg.Path())
	return path == "github.com/go-redis/redis" || strings.HasPrefix(path, "gopkg.in/redis.v")
}

// passedTo names the method to which a function literal is handed directly, "" if there is none.
func passedTo(lit *ssa.Function) string {
	if lit.Parent() == nil {
		return ""
	}
	for _, b := range lit.Parent().Blocks {
		for _, instr := range b.Instrs {
			call, ok := instr.(ssa.CallInstruction)
			if !ok {
				continue
			}
			for _, a := range call.Common().Args {
				mc, _ := a.(*ssa.MakeClosure)
				if a == ssa.Value(lit) || mc != nil && mc.Fn == lit {
					if m, ok := ssax.MethodOf(call.Common()); ok {
						return pipeName(m)
					}
				}
			}
		}
	}
	return ""
}

// InsideWatch reports whether a call stands in a function literal that is handed to Watch.
func InsideWatch(call ssa.CallInstruction) bool {
	for fn := call.Parent(); fn.Parent() != nil; fn = fn.Parent() {
		if passedTo(fn) == "Watch" {
			return true
		}
	}
	return false
}
