package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// requestTimeout is longer than any wait for a lock.
const requestTimeout = 90 * time.Second

// load sends the requests and notes the answers.
type load struct {
	client   *http.Client
	urls     []string // of the instances
	users    int
	answered func(n int) // called after each answer with their number so far

	next atomic.Int64

	mu      sync.Mutex // guards what follows
	answers map[int]int
	failed  int
	failure error // the first
	waits   []time.Duration
	elapsed time.Duration // set when all have ended
}

func newLoad(o options, urls []string, answered func(int)) *load {
	return &load{
		client: &http.Client{
			Timeout:   requestTimeout,
			Transport: &http.Transport{MaxIdleConnsPerHost: o.concurrency, DisableCompression: true},
		},
		urls: urls, users: o.users, answered: answered, answers: map[int]int{},
	}
}

// run sends requests, concurrency at a time, and returns when all are answered or
// ctx has ended.
func (l *load) run(ctx context.Context, requests, concurrency int) {
	start := time.Now()
	var senders sync.WaitGroup
	for range min(concurrency, requests) {
		senders.Go(func() {
			for i := int(l.next.Add(1)) - 1; i < requests && ctx.Err() == nil; i = int(l.next.Add(1)) - 1 {
				l.send(ctx, i)
			}
		})
	}
	senders.Wait()
	l.elapsed = time.Since(start)
	l.client.CloseIdleConnections()
}

// send is the request number i. Every user clicks twice, which reaches two
// instances at the same time.
func (l *load) send(ctx context.Context, i int) {
	user := i / 2 % l.users
	begin := time.Now()
	status, err := l.order(ctx, i, user)
	if ctx.Err() != nil {
		return // interrupted: neither answer nor failure
	}
	l.note(status, time.Since(begin), err)
}

// order asks one instance after the other until one answers, as a load balancer
// does. An instance that died may have placed the order before; to ask again
// is safe because nobody gets two.
func (l *load) order(ctx context.Context, i, user int) (status int, err error) {
	for attempt := range l.urls {
		var once error
		status, once = l.post(ctx, l.urls[(i+attempt)%len(l.urls)]+"?user="+strconv.Itoa(user))
		if once == nil {
			return status, nil
		}
		err = errors.Join(err, once)
		if status != 0 {
			break // it answered, with an error of its own
		}
	}
	return status, err
}

func (l *load) post(ctx context.Context, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	switch resp.StatusCode {
	case http.StatusCreated, http.StatusConflict, http.StatusGone, http.StatusServiceUnavailable:
		return resp.StatusCode, nil
	}
	return resp.StatusCode, fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body)))
}

func (l *load) note(status int, wait time.Duration, err error) {
	l.mu.Lock()
	l.waits = append(l.waits, wait)
	if err != nil {
		l.failed++
		if l.failure == nil {
			l.failure = err
		}
	} else {
		l.answers[status]++
	}
	n := len(l.waits)
	l.mu.Unlock()
	l.answered(n)
}

// percentile returns the wait that p percent of the requests did not exceed.
func (l *load) percentile(p int) time.Duration {
	if len(l.waits) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l.waits))
	return sorted[(len(sorted)-1)*p/100].Round(100 * time.Microsecond)
}

// rate is the answers per second.
func (l *load) rate() int {
	if l.elapsed <= 0 {
		return 0
	}
	return int(float64(len(l.waits)) / l.elapsed.Seconds())
}
