package testenv

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

// PostgresStandby starts a copy of a server for one test, which follows it by streaming, takes reads, and can be promoted
// with SELECT pg_promote(). It has the same user and password. Whether commits of the primary wait for it is up to
// synchronous_standby_names there; its name is "standby".
func PostgresStandby(t testing.TB, primary *PostgresServer) *PostgresServer {
	t.Helper()
	s, err := startStandby(context.Background(), primary)
	if err != nil {
		s = &PostgresServer{}
	}
	forTest(t, "postgres", s.sqlServer, err)
	return s
}

func startStandby(ctx context.Context, primary *PostgresServer) (*PostgresServer, error) {
	base, err := newSQLServer("postgres", primary.program, "postgres")
	if err != nil {
		return nil, err
	}
	base.flush, base.password = primary.flush, primary.password
	s := &PostgresServer{base}
	ctx, cancel := context.WithTimeout(ctx, sqlStartTimeout)
	defer cancel()
	err = s.setUp(ctx, filepath.Join(filepath.Dir(s.program), "pg_basebackup"), "--pgdata="+s.data(),
		"--dbname="+primary.URL()+"&application_name=standby", "--checkpoint=fast", "--no-sync", "--write-recovery-conf")
	if err == nil {
		err = s.start(ctx, s.args, s.ready)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}
