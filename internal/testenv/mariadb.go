package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const mariadbEnv = "LOCKGEN_MARIADB_SERVER"

// MariaDBServer is a running MariaDB server that belongs to its creator. All
// methods may be called from several goroutines.
type MariaDBServer struct{ *sqlServer }

// MariaDB starts a server for one test and stops it when the test ends. See the
// package documentation for what happens where MariaDB is not installed; its
// name in LOCKGEN_REQUIRE is "mariadb".
//
// LOCKGEN_MARIADB_SERVER names the mariadbd program to start. Defaults to the one
// in PATH or /usr/sbin. mariadb-install-db is looked up in PATH. The mysqld of
// MySQL is taken, too, so that what runs on MariaDB can be run on MySQL.
func MariaDB(t testing.TB) *MariaDBServer {
	t.Helper()
	s, err := StartMariaDB(context.Background())
	if err != nil {
		s = &MariaDBServer{}
	}
	forTest(t, "mariadb", s.sqlServer, err)
	return s
}

// StartMariaDB starts a server and returns once it takes connections. It gives
// up when ctx ends, or after five minutes. The caller must call Stop.
func StartMariaDB(ctx context.Context, cfg ...SQLConfig) (*MariaDBServer, error) {
	program, installer, err := mariadbPrograms()
	if err != nil {
		return nil, err
	}
	base, err := newSQLServer("mariadb", program, "mysql")
	if err != nil {
		return nil, err
	}
	base.flush = flushes(cfg)
	s := &MariaDBServer{base}
	ctx, cancel := context.WithTimeout(ctx, sqlStartTimeout)
	defer cancel()
	if err := s.create(ctx, installer); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	if err := s.start(ctx, s.args, s.ready); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// mariadbPrograms returns no installer for the program of MySQL, which is its own.
func mariadbPrograms() (server, installer string, err error) {
	name := os.Getenv(mariadbEnv)
	if name == "" {
		name = "mariadbd"
	}
	server, err = exec.LookPath(name)
	if err != nil && name == "mariadbd" {
		server, err = exec.LookPath("/usr/sbin/mariadbd") // often in root's PATH alone
	}
	if err == nil && isMySQL(server) {
		return server, "", nil
	}
	installer, installerErr := exec.LookPath("mariadb-install-db")
	if err := errors.Join(err, installerErr); err != nil {
		return "", "", fmt.Errorf("testenv: mariadb is %w: %w; install it (apt-get install mariadb-server) or name the program in %s",
			ErrNotInstalled, err, mariadbEnv)
	}
	return server, installer, nil
}

// OnMySQL reports whether MariaDB starts a server of MySQL, which has fewer modes and settings.
func OnMySQL() bool {
	program, _, err := mariadbPrograms()
	return err == nil && isMySQL(program)
}

// MariaDBParams returns parameters of a DSN as the server takes them that MariaDB starts. They are written for MariaDB:
// MySQL has other names for tx_isolation and tx_read_only, and neither innodb_snapshot_isolation nor
// idle_transaction_timeout.
func MariaDBParams(params string) string {
	if !OnMySQL() {
		return params
	}
	var known []string
	for param := range strings.SplitSeq(strings.TrimPrefix(params, "?"), "&") {
		switch name, _, _ := strings.Cut(param, "="); name {
		case "innodb_snapshot_isolation", "idle_transaction_timeout":
		default:
			known = append(known, strings.Replace(param, "tx_", "transaction_", 1))
		}
	}
	return "?" + strings.Join(known, "&")
}

func isMySQL(program string) bool {
	version, err := exec.Command(program, "--no-defaults", "--version").Output()
	return err == nil && bytes.Contains(version, []byte("Ver ")) && !bytes.Contains(version, []byte("MariaDB"))
}

func (s *MariaDBServer) data() string     { return filepath.Join(s.dir, "data") }
func (s *MariaDBServer) initFile() string { return filepath.Join(s.dir, "init.sql") }

// create also writes what the server executes at each start before it takes connections: until
// then the installer's root has no password.
func (s *MariaDBServer) create(ctx context.Context, installer string) error {
	statements := fmt.Sprintf("DROP USER IF EXISTS root@localhost;\n"+
		"CREATE USER IF NOT EXISTS %[1]s@'127.0.0.1' IDENTIFIED BY '%[2]s';\n"+
		"GRANT ALL ON *.* TO %[1]s@'127.0.0.1' WITH GRANT OPTION;\n"+
		"CREATE DATABASE IF NOT EXISTS %[3]s CHARACTER SET utf8mb4;\n", sqlUser, s.password, sqlName)
	if err := os.WriteFile(s.initFile(), []byte(statements), 0o600); err != nil {
		return fmt.Errorf("testenv: write the first statements of mariadb: %w", err)
	}
	if err := s.account.own(s.initFile()); err != nil {
		return fmt.Errorf("testenv: let mariadb read its first statements: %w", err)
	}
	if installer == "" {
		return s.setUp(ctx, s.program, "--no-defaults", "--datadir="+s.data(), "--initialize-insecure")
	}
	return s.setUp(ctx, installer, "--no-defaults", "--datadir="+s.data(), "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve")
}

func (s *MariaDBServer) args(port int) []string {
	atCommit := "2" // a killed server forgets nothing, a machine without power may
	if s.flush {
		atCommit = "1"
	}
	return []string{
		"--no-defaults",
		"--datadir=" + s.data(),
		"--init-file=" + s.initFile(),
		"--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(port),
		"--socket=" + filepath.Join(s.dir, "s"), // short: the path of a socket has little room
		"--pid-file=" + filepath.Join(s.dir, "pid"),
		"--skip-name-resolve",
		"--secure-file-priv=" + s.dir, // that of a package may not be there
		"--loose-mysqlx=OFF",          // MySQL only: a port that all servers would want
		"--max-connections=400",       // tests share servers
		"--innodb-flush-log-at-trx-commit=" + atCommit,
	}
}

// ready reads the log, which this process alone writes: the server says so after
// it has bound its port and run the init file.
func (s *MariaDBServer) ready(*process) bool {
	text, err := os.ReadFile(s.logFile())
	return err == nil && bytes.Contains(text, []byte("ready for connections"))
}

// DSN returns the address, with user, password and database, as the driver
// github.com/go-sql-driver/mysql takes it.
func (s *MariaDBServer) DSN() string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", sqlUser, s.password, s.Addr(), sqlName)
}
