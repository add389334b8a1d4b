// Package generic has type parameters wherever Go allows them.
package generic

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"example.com/app/probe"

	lockrt "github.com/lockgen/lockgen/runtime"
)

var _ time.Duration // for the instance of stringerLocked

type number interface{ ~int | ~int64 | ~uint8 }

type Pair[K comparable, V any] struct {
	Key   K
	Value V
	L     *lockrt.Locker
}

type List[T any] []T

type Tree[T interface{ ~string }] struct {
	*Pair[T, int]
	left *Tree[T]
}

//lock:key=generic-1:{k},ttl=30s
//torture:inst[string,int]
func mixedLocked[K ~string | ~int | ~bool, V any](ctx context.Context, k K, v V) (K, V, error) {
	probe.Run(ctx, k, v)
	return k, v, probe.Err()
}

//lock:key=generic-2:{n}:{p},ttl=30s
//torture:inst[int64]
func numbersLocked[N number](n N, p *N) []N { probe.Run(n, p); return []N{n} }

//lock:key=generic-3:{len(xs)},ttl=30s
//torture:inst[[]string,string]
func blankLocked[_ interface{ ~[]S }, S any](xs ...S) int { probe.Run(xs); return len(xs) }

//lock:key=generic-4,ttl=30s,busy=skip
//torture:inst[string,bool]
func (p *Pair[K, V]) pointerLocked(ctx context.Context, k K) (V, error) {
	probe.Run(p.Key, k)
	return p.Value, probe.Err()
}

//lock:key=generic-5,ttl=30s,locker=p.L
//torture:inst[int,string]
func (p Pair[_, V]) valueLocked(v map[string]V) (Pair[string, V], error) {
	probe.Run(p.Key, v)
	return Pair[string, V]{Value: v["x"]}, probe.Err()
}

//lock:key=generic-6:{len(l)},ttl=30s
//torture:inst[int]
func (l List[T]) listLocked(f func(T) List[T]) (List[T], error) { probe.Run(l); return l, probe.Err() }

//lock:key=generic-7:{t.left.Key},ttl=30s,locker=t.L
//torture:inst[string]
func (t *Tree[T]) treeLocked(ctx, key T) Tree[T] { probe.Run(ctx, key); return Tree[T]{} }

//lock:key=generic-8:{a},ttl=30s
//torture:inst[string]
func orderedLocked[T interface {
	cmp.Ordered
	~string
}](a T, p Pair[T, List[T]]) (Pair[T, List[T]], error) {
	probe.Run(a)
	return Pair[T, List[T]]{Key: a}, probe.Err()
}

//lock:key=generic-9:{x|string},ttl=30s
//torture:inst[time.Duration]
func stringerLocked[lockrt fmt.Stringer](x lockrt) (err lockrt) { probe.Run(x); return x }

//lock:key=generic-10:{err},ttl=30s
//torture:inst[string,int]
func namesLocked[ctx ~string, locks any](c context.Context, err ctx, key locks) (time locks, errors error) {
	probe.Run(c, err, key)
	return key, probe.Err()
}
