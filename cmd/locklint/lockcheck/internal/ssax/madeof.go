package ssax

import "golang.org/x/tools/go/ssa"

// MadeOf are the errors that a call makes another one of, which is nil only where all of them are. Not ok if it does
// nothing of the kind, or the list of them is not in sight.
func MadeOf(call *ssa.Call) (list []ssa.Value, ok bool) {
	fn := call.Call.StaticCallee()
	if fn == nil || fn.Object() == nil {
		return nil, false
	}
	args := call.Call.Args
	switch CalleeName(fn) {
	case "errors.Join", "go.uber.org/multierr.Combine", "github.com/cockroachdb/errors.Join":
		return Variadic(args[0])
	case "go.uber.org/multierr.Append":
		return args, true
	case "github.com/pkg/errors.Wrap", "github.com/pkg/errors.Wrapf", "github.com/pkg/errors.WithMessage",
		"github.com/pkg/errors.WithMessagef", "github.com/pkg/errors.WithStack", "github.com/cockroachdb/errors.Wrap",
		"github.com/cockroachdb/errors.Wrapf", "github.com/cockroachdb/errors.WithMessage",
		"github.com/cockroachdb/errors.WithMessagef", "github.com/cockroachdb/errors.WithStack":
		return args[:1], true
	}
	return nil, false
}

// IsAsType reports whether a call looks for an error of a type, like errors.As, and returns what it has found.
func IsAsType(call *ssa.Call) bool {
	fn := call.Call.StaticCallee()
	if fn == nil {
		return false
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	return fn.Object() != nil && CalleeName(fn) == "errors.AsType"
}
