// Package parallel spreads work over all processors.
package parallel

import (
	"runtime"
	"sync"
)

// For runs work for 0 to n-1 on all processors and waits for it.
func For(n int, work func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
