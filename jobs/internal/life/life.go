// Package life tells stores how long a run lasts, whatever context a function in it makes for a call.
package life

import "context"

type key struct{}

// With makes ctx that of a run, and of all contexts that are made of it.
func With(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, ctx) }

// Of returns the context of the run that ctx belongs to, ctx if there is none.
func Of(ctx context.Context) context.Context {
	if run, ok := ctx.Value(key{}).(context.Context); ok {
		return run
	}
	return ctx
}
