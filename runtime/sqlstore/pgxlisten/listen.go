package pgxlisten

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockgen/lockgen/runtime/sqlstore"
)

func init() {
	sqlstore.RegisterListener(func(url string) (sqlstore.Listener, error) { return New(url) })
}

// Listener implements sqlstore.Listener. Each Listen has a connection of its own.
type Listener struct{ config *pgx.ConnConfig }

var _ sqlstore.Listener = (*Listener)(nil)

// New returns a Listener that connects to a URL or DSN as pgx reads it. It does not contact the server. Behind a pooler,
// that is the address of the server itself.
func New(url string) (*Listener, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("listen to the locks: %w", err) // pgx leaves out the password
	}
	return fromConfig(config), nil
}

// FromPool returns a Listener that connects as the pool does. It takes no connection of the pool.
func FromPool(pool *pgxpool.Pool) *Listener { return fromConfig(pool.Config().ConnConfig) }

func fromConfig(config *pgx.ConnConfig) *Listener {
	config = config.Copy()
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "lockgen"
	}
	return &Listener{config}
}

// Listen implements sqlstore.Listener.
func (l *Listener) Listen(ctx context.Context, channel string, up func(), got func(payload string)) error {
	config := l.config.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		if n.Channel == channel {
			got(n.Payload)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("listen to the locks: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("listen to the locks: %w", err)
	}
	up()
	for {
		// With a handler of our own it does not return what it hears, only what ends it.
		if err := conn.PgConn().WaitForNotification(ctx); err != nil {
			return fmt.Errorf("listen to the locks: %w", err)
		}
	}
}
