package sqlstore

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed ddl/postgres.sql
var postgresDDL string

// unflushed lets the commit of a statement that has changed something not wait for the disk. It is for what a crash of
// the server may undo: a lock that was released lasts to its TTL then, a waiter finds itself out of the queue.
const unflushed = ` RETURNING set_config('synchronous_commit', 'off', true)`

// Everything that gives a lock to somebody else takes its row FOR UPDATE first, which waits for a guarded transaction,
// or does nothing while there is one (SKIP LOCKED). What decides is computed once, in a step of its own: where the
// planner repeats an expression that changes, such as the clock or what SKIP LOCKED has found, the columns of one row
// come from different answers.
//
// Statements on several rows take them in the order of their names and leave out those that somebody else has locked,
// so that they neither wait for each other in a ring nor all for one; what was left out is tried again alone.
var postgres = dialect{
	name: Postgres, numbered: true, quote: `"`, ddl: postgresDDL,
	now:    `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	tick:   `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	grants: `{usage}GRANT SELECT, INSERT, UPDATE, DELETE ON {lock}, {session} TO the_role;`,

	booted: ` UNION ALL SELECT '-', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint`,

	take: `WITH c AS MATERIALIZED (SELECT {now} AS t)
INSERT INTO {lock} AS k (` + columns + `)
SELECT :name::bytea, :key::bytea, c.t, c.t, 1, :id::text, :session::text, :node::text, '', c.t, c.t + :ttl::bigint, '' FROM c
WHERE c.t <= :latest::bigint
  AND NOT EXISTS (SELECT 1 FROM {lock} AS b
    WHERE b.name = :name::bytea AND (b.until > c.t OR b.owner <> '' OR b.queue <> ''))
ON CONFLICT (name) DO UPDATE SET version = k.version + 1, epoch = greatest(k.epoch + 1, excluded.epoch),
  turns = k.turns + 1, owner = excluded.owner, session = excluded.session, node = excluded.node, broken = '',
  since = excluded.since, until = excluded.until
WHERE k.owner = '' AND k.until <= excluded.since AND k.queue = '' AND {tick} <= :latest::bigint
RETURNING epoch, since`,

	swap:    fmt.Sprintf(postgresSwap, "FOR UPDATE SKIP LOCKED"),
	patient: fmt.Sprintf(postgresSwap, "FOR UPDATE"),

	join: `UPDATE {lock} SET queue = queue || :line::text, version = version + 1
WHERE name = :name AND until > {now} AND owner <> :id AND strpos(queue, :mark::text) = 0 AND {tick} <= :latest` + unflushed,
	joinOver: `UPDATE {lock} SET queue = queue || :line::text, version = version + 1
WHERE name = :name AND owner <> '' AND owner <> :id AND strpos(queue, :mark::text) = 0 AND {tick} <= :latest` + unflushed,
	leave: `UPDATE {lock} SET queue = replace(queue, :line::text, ''), version = version + 1
WHERE name = :name AND strpos(queue, :line::text) > 0` + unflushed,

	free: `WITH l AS MATERIALIZED (
  SELECT name FROM {lock} WHERE name = :name AND owner = :id AND until > {now} AND queue = '' FOR UPDATE)
UPDATE {lock} AS k SET owner = '', session = '', node = '', broken = '', until = 0, version = k.version + 1
FROM l WHERE k.name = l.name AND k.owner = :id AND k.queue = ''` + unflushed,

	renew: `WITH a AS MATERIALIZED (SELECT * FROM unnest(:names::bytea[], :ids::text[], :ttls::bigint[]) AS a(name, id, ttl)),
l AS MATERIALIZED (SELECT k.name, k.owner, a.ttl FROM {lock} AS k JOIN a ON k.name = a.name AND k.owner = a.id
  WHERE k.until > {now} AND k.broken = '' ORDER BY k.name FOR NO KEY UPDATE OF k SKIP LOCKED)
UPDATE {lock} AS k SET until = greatest(k.until, {now} + l.ttl), version = k.version + 1
FROM l WHERE k.name = l.name AND k.owner = l.owner AND k.until > {now} AND k.broken = ''
RETURNING k.name, k.owner`,

	beat: `INSERT INTO {session} (session, node, live, told) VALUES (:session, :node, {now} + :liveness::bigint, '')
ON CONFLICT (session) DO UPDATE SET live = excluded.live` + unflushed,

	mark:  fmt.Sprintf(postgresMark, "FOR NO KEY UPDATE"),
	force: fmt.Sprintf(postgresMark, "FOR UPDATE"),

	takeMany: `WITH a AS MATERIALIZED (
  SELECT * FROM unnest(:names::bytea[], :keys::bytea[], :ids::text[], :ttls::bigint[]) AS a(name, lock_key, id, ttl)),
f AS MATERIALIZED (SELECT k.name, a.id, a.ttl FROM {lock} AS k JOIN a ON k.name = a.name
  WHERE k.owner = '' AND k.queue = '' AND k.until <= {now} ORDER BY k.name FOR NO KEY UPDATE OF k SKIP LOCKED),
c AS MATERIALIZED (SELECT {now} AS t, count(*) FROM f),
u AS (UPDATE {lock} AS k SET version = k.version + 1, epoch = greatest(k.epoch + 1, c.t),
    turns = k.turns + 1, owner = f.id,
    session = :session::text, node = :node::text, broken = '', since = c.t, until = c.t + f.ttl
  FROM f, c WHERE k.name = f.name AND k.owner = '' AND k.queue = '' AND k.until <= c.t AND c.t <= :latest::bigint
  RETURNING k.owner, k.epoch, k.since),
i AS (INSERT INTO {lock} (` + columns + `)
  SELECT a.name, a.lock_key, c.t, c.t, 1, a.id, :session::text, :node::text, '', c.t, c.t + a.ttl, '' FROM a, c
  WHERE c.t <= :latest::bigint AND NOT EXISTS (SELECT 1 FROM {lock} AS k WHERE k.name = a.name) ORDER BY a.name
  ON CONFLICT (name) DO NOTHING RETURNING owner, epoch, since)
SELECT owner, epoch, since FROM u UNION ALL SELECT owner, epoch, since FROM i`,

	freeMany: `WITH a AS MATERIALIZED (SELECT * FROM unnest(:names::bytea[], :ids::text[]) AS a(name, id)),
l AS MATERIALIZED (SELECT k.name, k.owner FROM {lock} AS k JOIN a ON k.name = a.name AND k.owner = a.id
  WHERE k.until > {now} AND k.queue = '' ORDER BY k.name FOR UPDATE OF k SKIP LOCKED),
u AS (UPDATE {lock} AS k SET owner = '', session = '', node = '', broken = '', until = 0, version = k.version + 1
  FROM l WHERE k.name = l.name AND k.owner = l.owner AND k.queue = '' RETURNING l.owner)
SELECT owner, set_config('synchronous_commit', 'off', true) FROM u`,

	examine: examinePostgres,
}

const postgresSwap = `WITH l AS MATERIALIZED (SELECT name FROM {lock} WHERE name = :name AND version = :version %s),
c AS MATERIALIZED (SELECT l.name, {tick} AS t FROM l)
UPDATE {lock} AS k SET version = k.version + 1, epoch = :epoch, turns = :turns, owner = :owner,
  session = :session, node = :node, broken = :broken, since = :since, until = :until, queue = :queue
FROM c WHERE k.name = c.name AND k.version = :version AND c.t <= :latest::bigint`

const postgresMark = `WITH l AS MATERIALIZED (SELECT name FROM {lock} WHERE name = :name AND version = :version %s),
c AS MATERIALIZED (SELECT l.name, {tick} AS t FROM l),
u AS (UPDATE {lock} AS k SET version = k.version + 1, epoch = :epoch, turns = :turns, owner = :owner,
  session = :session, node = :node, broken = :broken, since = :since, until = :until, queue = :queue
  FROM c WHERE k.name = c.name AND k.version = :version AND c.t <= :latest::bigint RETURNING k.name)
INSERT INTO {session} AS s (session, node, live, told) SELECT :holder::text, '', 0, :line::text FROM u
ON CONFLICT (session) DO UPDATE SET told = s.told || excluded.told`

// postgresArray is an array as text, which every driver can pass and the statement casts.
func postgresArray(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(item) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

// examinePostgres refuses servers and settings that would break what locks rest on.
func examinePostgres(ctx context.Context, q querier) error {
	var s postgresServer
	rows, err := q.QueryContext(ctx, `SELECT version(), current_setting('server_version_num')::int,
current_setting('transaction_isolation'), current_setting('transaction_read_only')`)
	if err != nil {
		return err
	}
	if err := scanOne(rows, &s.version, &s.number, &s.isolation, &s.readOnly); err != nil {
		return err
	}
	return s.judge()
}

// postgresServer is what a server says of itself.
type postgresServer struct {
	version   string
	number    int
	isolation string
	readOnly  string
}

func (s postgresServer) judge() error {
	switch {
	case strings.Contains(s.version, "CockroachDB") || strings.Contains(s.version, "-YB-"):
		return refusal("the server is %s: what a statement sees there after a wait for a row, which locks rest on, is something else",
			s.version)
	case s.number < 120000:
		return refusal("the server is %s; PostgreSQL 12 or later is needed", s.version)
	case s.readOnly == "on":
		return errReadOnly
	case s.isolation != "read committed":
		return refusal("the connection's default isolation is %s, where statements that meet fail instead of waiting; "+
			"give the pool of the locks default_transaction_isolation 'read committed'", s.isolation)
	}
	return nil
}

// scanOne reads the only row.
func scanOne(rows *sql.Rows, into ...any) error {
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	return rows.Close()
}
