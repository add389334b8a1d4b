package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/fence"
	"github.com/lockgen/lockgen/runtime/sqlstore"
)

// closeTimeout bounds the end of an instance: the requests it still serves, and
// the locks it gives back.
const closeTimeout = 10 * time.Second

// instance is a shop that can be reached over HTTP.
type instance struct {
	shop    *shop
	ln      net.Listener
	server  *http.Server
	serving sync.WaitGroup
}

// startInstance serves on a free loopback port.
func startInstance(s *shop, unsafe bool) (*instance, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	place := s.placeOrder // the wrapper that lockgen wrote around placeOrderLocked
	if unsafe {
		place = s.placeOrderUnsafe
	}
	mux := http.NewServeMux()
	mux.Handle("POST /orders", ordersHandler(place))
	i := &instance{shop: s, ln: ln, server: &http.Server{Handler: mux, ReadHeaderTimeout: closeTimeout}}
	i.serving.Go(func() { _ = i.server.Serve(ln) }) // its error says that it was closed
	return i, nil
}

func (i *instance) url() string { return "http://" + i.ln.Addr().String() + "/orders" }

// close lets requests under way finish, then gives back the locks.
func (i *instance) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := i.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: requests were still under way: %w", i.shop.name, err), i.server.Close())
	}
	i.serving.Wait()
	return errors.Join(err, i.shop.locks.Close(ctx))
}

// ordersHandler answers 201 for an order, 409 if the user has one, 410 when
// everything is sold, and 503 if the request may be sent again.
func ordersHandler(place func(context.Context, int64) (outcome, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		userID, err := strconv.ParseInt(r.URL.Query().Get("user"), 10, 64)
		if err != nil {
			http.Error(w, "user is missing or no number: POST /orders?user=7", http.StatusBadRequest)
			return
		}
		result, err := place(r.Context(), userID)
		switch {
		case errors.Is(err, lockrt.ErrBusy), errors.Is(err, lockrt.ErrLost), errors.Is(err, fence.ErrStale),
			errors.Is(err, sqlstore.ErrUnsure): // to ask again is safe: nobody gets two
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.WriteHeader(statusOf[result])
			fmt.Fprintln(w, result)
		}
	})
}

var statusOf = map[outcome]int{
	ordered:        http.StatusCreated,
	alreadyOrdered: http.StatusConflict,
	soldOut:        http.StatusGone,
}
