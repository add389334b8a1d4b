package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// PgBouncerServer is a pooler in transaction mode in front of a PostgreSQL server.
type PgBouncerServer struct {
	*sqlServer
	target *PostgresServer
}

// PgBouncer starts a pooler in front of a server for one test and stops it when the test ends. Its name in
// LOCKGEN_REQUIRE is "pgbouncer".
func PgBouncer(t testing.TB, target *PostgresServer) *PgBouncerServer {
	t.Helper()
	s, err := startPgBouncer(context.Background(), target)
	if err != nil {
		s = &PgBouncerServer{}
	}
	forTest(t, "pgbouncer", s.sqlServer, err)
	return s
}

func startPgBouncer(ctx context.Context, target *PostgresServer) (*PgBouncerServer, error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer") // often in root's PATH alone
	}
	if err != nil {
		return nil, fmt.Errorf("testenv: pgbouncer is %w: %w; install it (apt-get install pgbouncer)", ErrNotInstalled, err)
	}
	base, err := newSQLServer("pgbouncer", program, "postgres")
	if err != nil {
		return nil, err
	}
	s := &PgBouncerServer{base, target}
	ctx, cancel := context.WithTimeout(ctx, sqlStartTimeout)
	defer cancel()
	if err := s.start(ctx, s.args, s.ready); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// args also writes the file of settings, which has the port.
func (s *PgBouncerServer) args(port int) []string {
	host, targetPort, _ := net.SplitHostPort(s.target.Addr())
	settings := fmt.Sprintf(`[databases]
postgres = host=%s port=%s dbname=postgres user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 500
server_login_retry = 0.2
`, host, targetPort, sqlUser, s.target.password, port)
	file := filepath.Join(s.dir, "pgbouncer.ini")
	// What is wrong with the file the server says itself.
	_ = os.WriteFile(file, []byte(settings), 0o600)
	_ = s.account.own(file)
	return []string{file}
}

// ready reports whether the port is open. It is our server that has it: PgBouncer ends if another process does.
func (s *PgBouncerServer) ready(*process) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)), time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// URL returns the address as postgres://…, with the database.
func (s *PgBouncerServer) URL() string {
	u := url.URL{Scheme: "postgres", User: url.User(sqlUser), Host: s.Addr(), Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}
