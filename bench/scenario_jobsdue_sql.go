package main

import (
	"context"
	"errors"
	"time"

	jobssql "github.com/lockgen/lockgen/jobs/sqlstore"
)

// pgJobsDue is jobsDue with jobs and their locks in PostgreSQL.
type pgJobsDue struct{ jobsDue }

var (
	pgJobsDueFull  = pgJobsDue{jobsDue{nodes: 3, jobs: 10_000, every: 20 * time.Second, ticks: 3}}
	pgJobsDueQuick = pgJobsDue{jobsDue{nodes: 2, jobs: 100, every: 2 * time.Second, ticks: 1}}
)

func (pgJobsDue) name() string { return "pg-jobs-due" }

func (s pgJobsDue) run(ctx context.Context, b *bench) error {
	return onPostgres.with(ctx, func(url string) (err error) {
		db, err := openDB(url)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if err := jobssql.CreateTables(ctx, db, jobssql.Config{}); err != nil {
			return err
		}
		done, err := s.measure(ctx, b, s.name(), sqlJobs.name, url, func() (int64, error) { return transactions(ctx, db) })
		if err != nil {
			return err
		}
		s.tell(&b.report, done, 2000)
		s.tellOne(&b.report, done, "transactions per run", float64(done.processed)/float64(s.jobs*s.ticks))
		return nil
	})
}
