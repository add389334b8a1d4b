// Package forms has every form of parameter, result and receiver.
package forms

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"time"

	"example.com/app/probe"

	lockrt "github.com/lockgen/lockgen/runtime"
)

type ID int64

type Order struct{ N int }

type Customer struct {
	Name  string
	Email *string
	Tags  []string
	Since time.Time
	Owner *Customer
}

const (
	ttl     = 30 * time.Second
	keyText = "forms-constant"
)

//lock:key=forms-1,ttl=30s
func nothingLocked() { probe.Run() }

//lock:key=forms-2,ttl=30s
func onlyContextLocked(ctx context.Context) { probe.Run(ctx) }

//lock:key=forms-3,ttl=30s
func failsLocked() error { probe.Run(); return probe.Err() }

//lock:key=forms-4:{id},ttl=30s
func valueLocked(id ID) Order { probe.Run(id); return Order{7} }

//lock:key=forms-5:{a}:{b}:{c}/{d},ttl=@ttl
func manyLocked(ctx context.Context, a, b string, c int8, d bool) (Order, []Order, map[string]*Order, error) {
	probe.Run(ctx, a, b, c, d)
	return Order{1}, []Order{{2}}, map[string]*Order{"x": {3}}, probe.Err()
}

//lock:key=@keyText,ttl=1h
func namedResultsLocked(ctx context.Context) (order, other *Order, n int, err error) {
	probe.Run(ctx)
	order, other, n, err = &Order{1}, &Order{2}, 3, probe.Err()
	return
}

//lock:key=forms-7,ttl=30s
func namedNoErrorLocked() (n int, text string) { probe.Run(); return 1, "one" }

//lock:key=forms-8,ttl=30s
func blankResultsLocked() (_ int, _ string, _ error) { probe.Run(); return 1, "one", probe.Err() }

//lock:key=forms-9:{len(xs)},ttl=30s
func variadicLocked(ctx context.Context, xs ...string) (int, error) {
	probe.Run(ctx, xs)
	return len(xs), probe.Err()
}

//lock:key=forms-10,ttl=30s
func onlyVariadicLocked(xs ...any) { probe.Run(xs) }

//lock:key=forms-11:{b},ttl=30s
func blankParamsLocked(_ context.Context, _ int, b string, _ ...bool) error {
	probe.Run(b)
	return probe.Err()
}

//lock:key=forms-12,ttl=30s
func unnamedLocked(context.Context, int, string, *Order, ...ID) (int, error) {
	probe.Run()
	return 1, probe.Err()
}

//lock:key=forms-13,ttl=30s
func anonymousLocked(s struct {
	A int `json:"a"`
	B struct{ C, D string }
}, i interface {
	fmt.Stringer
	M(int) (n int, err error)
}, f func(a, b int, c ...io.Reader) (x netip.Addr, err error), ch <-chan struct{ E int }) (struct{ F int }, error) {
	probe.Run(s, i, f, ch)
	return struct{ F int }{s.A}, probe.Err()
}

//lock:key=forms-14:{len(a)}:{len(m)},ttl=30s
func compositeLocked(a [2 + 1][]*Order, m map[[2]ID]func(), send chan<- (<-chan int), pp **Order) [2]string {
	probe.Run(a, len(m), pp)
	return [2]string{"x", "y"}
}

//lock:key=forms-15:{c.Name}:{c.Email}:{len(c.Tags)}/{c.Since|unix}:{c.Owner.Name|lower}/{c.Owner.Owner.Name|hash},ttl=30s
func pathLocked(c *Customer) error { probe.Run(c); return probe.Err() }

//lock:key=forms-16:{addr?}:{p?},ttl=30s
func textLocked(addr netip.Addr, p *netip.Addr) error { probe.Run(addr, p); return probe.Err() }

//lock:key=forms-17:{d|string}:{t|unix},ttl=30s
func filterLocked(d time.Duration, t time.Time) error { probe.Run(d, t); return probe.Err() }

//lock:key=forms-18:{a},ttl=30s,renew=false,reentrant
//lock:key=forms-18b:{b},minhold=1ns
func twoKeysLocked(ctx context.Context, fb lockrt.Fence, a string, lb *lockrt.Lease, b uint16, fa lockrt.Fence) (string, error) {
	probe.Run(ctx, fb, a, lb, b, fa)
	return a, probe.Err()
}

//lock:key=forms-19,ttl=30s,busy=skip
func skipLocked() (Order, error) { probe.Run(); return Order{1}, probe.Err() }

//lock:key=forms-20,ttl=30s,busy=skip
func skipNothingLocked() { probe.Run() }

//lock:key=forms-21,ttl=30s,busy=skip,wait=1ms
//lock:key=forms-21b
func skipNamedLocked(ctx context.Context) (n int, err error) { probe.Run(ctx); return 1, probe.Err() }

//lock:key=forms-22:{l},ttl=30s,maxhold=1h
func (l ID) valueReceiverLocked(ctx context.Context, locks *lockrt.Locker) (ID, error) {
	probe.Run(l, ctx)
	return l, probe.Err()
}

//lock:key=forms-23:{c.Name},ttl=30s
func (c *Customer) pointerLocked(n ...int) int { probe.Run(c, n); return 1 }

//lock:key=forms-24,ttl=30s
func (Customer) noReceiverLocked(c int) error { probe.Run(c); return probe.Err() }

//lock:key=forms-25,ttl=30s
func (*Order) blankReceiverLocked(context.Context) {
	probe.Run()
}

//lock:key=forms-26,ttl=30s
func (_ Order) underscoreLocked(_, _ int) (_ error) { probe.Run(); return probe.Err() }

// Methods that name their receiver say what the others would call it.
func (ord *Order) total() int { return ord.N }

//lock:key="forms, 27 {{x}}",ttl=30s
func quotedLocked() error { probe.Run(); return probe.Err() }

//lock:key=forms-28,ttl=30s
func pointerToErrorLocked() *error { probe.Run(); return nil }

//lock:key=forms-29,ttl=30s
func errorFirstLocked() (error, int) { probe.Run(); return nil, 1 }

// documentedLocked says more than one line. */ ends no comment here.
//
//		code := "kept"
//
//	  - a list
//
// Deprecated: use something else, "quoted" `raw` */.
//
//lock:key=forms-30,ttl=30s
func documentedLocked() { probe.Run() }

/*
blockLocked has a block comment // with slashes.

	indented
*/
//lock:key=forms-31,ttl=30s
func blockLocked() { probe.Run() }

//lock:key=forms-40,ttl=30s,busy=skip
func someBlankLocked(ctx context.Context) (err int, _ Order, _ error) {
	probe.Run(ctx)
	return 1, Order{N: 2}, probe.Err()
}

//lock:key=forms-41,ttl=30s
func someBlankNoErrorLocked() (n int, _ []string) { probe.Run(); return 1, []string{"x"} }
