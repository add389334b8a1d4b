// Package api is a stand-in with the calls that the checks know.
package api

type Client struct{}

type LockOptions struct {
	Key         string
	LockTryOnce bool
}

func (c *Client) LockKey(key string) (*Lock, error)         { return nil, nil }
func (c *Client) LockOpts(opts *LockOptions) (*Lock, error) { return nil, nil }

type Lock struct{}

func (l *Lock) Lock(stop <-chan struct{}) (<-chan struct{}, error) { return nil, nil }
func (l *Lock) Unlock() error                                      { return nil }
func (l *Lock) Destroy() error                                     { return nil }
