package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgen/lockgen/internal/testsync"
	"github.com/lockgen/lockgen/jobs"
)

// The statistics of a PostgreSQL server are of a moment when the tables were empty, as those of the runs are between two
// bursts. Then a wrong choice of an index reads every row of the namespace, for each job.
func TestPostgres_plansOnOldStatistics(t *testing.T) {
	t.Parallel()
	e := postgres(t)
	const many, rounds = 1500, 3
	for _, table := range []string{"job", "run", "record", "notice", "oneoff", "node"} {
		e.exec(t, "ALTER TABLE lockgen_"+table+" SET (autovacuum_enabled = off)")
	}
	e.exec(t, "VACUUM ANALYZE")
	db := openDB(t, "pgx", e.url)
	s := (&engine{name: e.name, db: db, url: e.url, n: e.n}).store()
	r := jobs.Registration{Session: "s"}
	for i := range many {
		r.Offers = append(r.Offers, jobs.Offer{Definition: jobs.Definition{Job: fmt.Sprint("job-", i)}})
	}
	view, err := s.Register(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		claims := stormClaims(view, 0, round, many)
		for _, got := range s.Claim(t.Context(), claims) {
			if got.Err != nil || got.Status != jobs.ClaimWon {
				t.Fatal(got)
			}
		}
		starts, finishes := make([]jobs.Start, many), make([]jobs.Finish, many)
		for i, c := range claims {
			run := c.InFlight.Run
			run.Started = view.Now
			starts[i] = jobs.Start{Run: run, Owner: c.InFlight.Owner, Lease: time.Minute}
			run.Outcome, run.Ended = jobs.OutcomeOK, view.Now
			finishes[i] = jobs.Finish{Run: run, Owner: c.InFlight.Owner, Lease: time.Minute, Keep: 10}
		}
		if err := errors.Join(append(s.Start(t.Context(), starts), s.Finish(t.Context(), finishes)...)...); err != nil {
			t.Fatal(err)
		}
	}
	// The server counts what a connection has read when that ends, at the latest.
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var name string
	testsync.Eventually(t, "the connections are gone", func() bool {
		err := e.db.QueryRow("SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").
			Scan(&name)
		return errors.Is(err, sql.ErrNoRows)
	})
	rows, err := e.db.QueryContext(context.Background(), "SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var read int
		if err := rows.Scan(&name, &read); err != nil {
			t.Fatal(err)
		}
		perRun := float64(read) / (many * rounds)
		t.Logf("%.1f rows of %s were read for a run", perRun, name)
		if perRun > 25 {
			t.Errorf("%.1f rows of %s were read for a run", perRun, name)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
