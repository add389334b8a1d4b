// Package names calls everything like something that generated code would like to use.
package names

import (
	ctx "context"
	"time"

	"example.com/app/probe"

	lease "github.com/lockgen/lockgen/runtime"
)

type key struct{ err string }

type locks int

type T struct{ n int }

type pair[A, B any] struct {
	a A
	b B
}

// Names of the package that generated code has for imports and locals.
var errors, leases, ran, result = 1, 2, 3, 4

func jobs() {}

func context() {}

func lockrt() {}

//lock:key=names-1:{err}:{ctx},ttl=30s
func shadowsLocked(ctx string, err int, locks bool, time, lockrt string, key, lease, errors, context uint8, jobs, s, nil, error, string, true, len string) {
	probe.Run(ctx, err, locks, time, lockrt, key, lease, errors, context, jobs, s, nil, error, string, true, len)
}

//lock:key=names-2:{locks},ttl=30s,busy=skip
func resultsLocked(c ctx.Context, locks int) (ctx, err, key, lease, lockrt string, time error) {
	probe.Run(c, locks)
	return "a", "b", "c", "d", "e", probe.Err()
}

//lock:key=names-3:{time.err},ttl=30s
func (time *key) receiverLocked(c ctx.Context, lockrt ...*key) (*key, error) {
	probe.Run(time, c, lockrt)
	return time, probe.Err()
}

//lock:key=names-4:{ctx},ttl=30s
func (ctx locks) ctxReceiverLocked(context ctx.Context) (err locks, lockErr error) {
	probe.Run(ctx, context)
	return ctx, probe.Err()
}

//lock:key=names-5:{lockKey},ttl=30s
//lock:key=names-5b:{lockLocks}
func ourPrefixLocked(lockCtx ctx.Context, lockKey, lockLocks, lockErr, lockLease, lockRan, key1, key2, lockKey1 string) (lockKey2 int, lockLeases error) {
	probe.Run(lockCtx, lockKey, lockLocks, lockErr, lockLease, lockRan, key1, key2, lockKey1)
	return 1, probe.Err()
}

//lock:key=names-6:{arg1},ttl=30s
func argsLocked(_ ctx.Context, arg1, arg2 string, _ int, arg4Arg, timeArg int) (arg4 error) {
	probe.Run(arg1, arg2, arg4Arg, timeArg)
	return probe.Err()
}

//lock:key=names-7,ttl=30s,minhold=1ns
func importsLocked(time time.Duration, f lease.Fence, lease *lease.Lease, ctx func(ctx.Context)) time.Duration {
	probe.Run(time, f, lease)
	return 5
}

//lock:key=names-8,ttl=30s,func=Ünïcode
func näme(größe int, 世界 string) (ß int, 日 error) {
	probe.Run(größe, 世界)
	return größe, probe.Err()
}

//lock:key=names-9:{k.err},ttl=30s
func partsLocked(err int, k *key) (parts key, err2 error) { probe.Run(err, k); return *k, probe.Err() }

//lock:key=names-10,ttl=30s
func Locked() { probe.Run() }

//lock:key=names-11,ttl=30s,func=RunIt
func aLockedB(byte int, rune string, any bool, append, make, new, panic, recover, false, iota int) {
	probe.Run(byte, rune, any, append, make, new, panic, recover, false, iota)
}

//lock:key=names-12:{n},ttl=30s,busy=skip
//torture:inst[int,[]int,bool,string]
func typeParamsLocked[string any, nil ~[]string, _, error any](true T, n int, x string, xs nil, e error) (error, []string) {
	probe.Run(true, n, x, xs, e)
	return e, []string{x}
}

//lock:key=names-13,ttl=30s,busy=skip
//torture:inst[int,string]
func (p pair[string, error]) receiverTypesLocked(false int, t T) (string, error) {
	probe.Run(p, false, t)
	return p.a, p.b
}

func use() (int, func(), func(), func()) {
	return errors + leases + ran + result, jobs, context, lockrt
}
