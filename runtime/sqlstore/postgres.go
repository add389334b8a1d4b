package sqlstore

import (
	_ "embed"
	"fmt"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

//go:embed ddl/postgres.sql
var postgresDDL string

// unflushed lets the commit of a statement that has changed something not wait for the disk. It is for what a crash of
// the server may undo: a lock that was released lasts to its TTL then, a waiter finds itself out of the queue.
const unflushed = ` RETURNING set_config('synchronous_commit', 'off', true)`

// Everything that gives a lock to somebody else takes its row FOR UPDATE first, which waits for a guarded transaction,
// or does nothing while there is one (SKIP LOCKED). So does what ends a lease: a guard in a transaction with an older
// snapshot notices no weaker lock. What decides is computed once, in a step of its own: where the
// planner repeats an expression that changes, such as the clock or what SKIP LOCKED has found, the columns of one row
// come from different answers.
//
// Statements on several rows take them in the order of their names and leave out those that somebody else has locked,
// so that they neither wait for each other in a ring nor all for one; what was left out is tried again alone. Each row
// is looked up by itself, LATERAL with its lock, and what is locked is not asked about again: a planner whose statistics
// are some seconds old takes thousands of rows for one, and goes through all of them for each name.
var postgres = dialect{
	numbered: "$", ddl: postgresDDL,
	now:    `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	tick:   `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
	grants: `{usage}GRANT SELECT, INSERT, UPDATE, DELETE ON {lock}, {session} TO the_role;`,

	booted: ` UNION ALL SELECT '-', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint`,

	take: `WITH c AS MATERIALIZED (SELECT {now} AS t)
INSERT INTO {lock} AS k (` + columns + `)
SELECT :name::bytea, :key::bytea, c.t, c.t, 1, :id::text, :session::text, :node::text, '', c.t, c.t + :ttl::bigint, '', '' FROM c
WHERE c.t <= :latest::bigint
  AND NOT EXISTS (SELECT 1 FROM {lock} AS b
    WHERE b.name = :name::bytea AND (b.until > c.t OR b.owner <> '' OR b.queue <> ''))
ON CONFLICT (name) DO UPDATE SET version = k.version + 1, epoch = greatest(k.epoch + 1, excluded.epoch),
  turns = k.turns + 1, owner = excluded.owner, session = excluded.session, node = excluded.node, broken = '',
  since = excluded.since, until = excluded.until
WHERE k.owner = '' AND k.until <= excluded.since AND k.queue = '' AND {tick} <= :latest::bigint
RETURNING owner, epoch, since`,

	insert: `INSERT INTO {lock} (` + columns + `)
SELECT :name::bytea, :key::bytea, :epoch::bigint, :epoch::bigint, 1, :owner::text, '', '', '', :since::bigint, :until::bigint, '',
  :holders::text WHERE {tick} <= :latest::bigint
ON CONFLICT (name) DO NOTHING`,

	swap:    fmt.Sprintf(postgresSwap, "FOR UPDATE SKIP LOCKED"),
	patient: fmt.Sprintf(postgresSwap, "FOR UPDATE"),
	beside:  fmt.Sprintf(postgresSwap, "FOR NO KEY UPDATE"),

	join: postgresJoin + unflushed,
	joinShare: postgresJoin + ` AND (owner <> '` + sharedOwner + `' OR queue <> '')
AND strpos(holders, :mark::text) = 0` + unflushed,
	joinOver: `UPDATE {lock} SET queue = queue || :line::text, version = version + 1
WHERE name = :name AND owner <> '' AND owner <> :id AND strpos(queue, :mark::text) = 0 AND {tick} <= :latest` + unflushed,
	leave: `UPDATE {lock} SET queue = replace(queue, :line::text, ''), version = version + 1
WHERE name = :name AND strpos(queue, :line::text) > 0 AND owner <> '` + sharedOwner + `'` + unflushed,

	free: `WITH l AS MATERIALIZED (
  SELECT name FROM {lock} WHERE name = :name AND owner = :id AND until > {now} AND queue = '' FOR UPDATE)
UPDATE {lock} AS k SET owner = '', session = '', node = '', broken = '', until = 0, version = k.version + 1
FROM l WHERE k.name = l.name AND k.owner = :id AND k.queue = ''` + unflushed,

	renew: `WITH a AS MATERIALIZED (SELECT * FROM unnest(:names::bytea[], :ids::text[], :ttls::bigint[]) AS a(name, id, ttl)
  ORDER BY name),
l AS MATERIALIZED (SELECT k.name, k.owner, a.ttl FROM a CROSS JOIN LATERAL (SELECT k.name, k.owner FROM {lock} AS k
  WHERE k.name = a.name AND k.owner = a.id AND k.until > {now} AND k.broken = '' FOR NO KEY UPDATE SKIP LOCKED) AS k)
UPDATE {lock} AS k SET until = greatest(k.until, {now} + l.ttl), version = k.version + 1
FROM l WHERE k.name = l.name
RETURNING k.name, k.owner`,

	renewShare: `WITH l AS MATERIALIZED (SELECT name FROM {lock}
  WHERE name = :name AND owner = '` + sharedOwner + `' FOR NO KEY UPDATE SKIP LOCKED),
c AS MATERIALIZED (SELECT l.name, {now} AS t FROM l)
` + postgresRenewShare + ` AND k.name = c.name`,
	renewShareLate: `WITH c AS MATERIALIZED (SELECT {now} AS t)
` + postgresRenewShare,

	beat: `INSERT INTO {session} (session, node, live, told) VALUES (:session, :node, {now} + :liveness::bigint, '')
ON CONFLICT (session) DO UPDATE SET live = excluded.live` + unflushed,

	mark:  fmt.Sprintf(postgresMark, "FOR NO KEY UPDATE"),
	force: fmt.Sprintf(postgresMark, "FOR UPDATE"),

	takeMany: `WITH a AS MATERIALIZED (
  SELECT * FROM unnest(:names::bytea[], :keys::bytea[], :ids::text[], :ttls::bigint[]) AS a(name, lock_key, id, ttl)
  ORDER BY name),
f AS MATERIALIZED (SELECT k.name, a.id, a.ttl FROM a CROSS JOIN LATERAL (SELECT k.name FROM {lock} AS k
  WHERE k.name = a.name AND k.owner = '' AND k.queue = '' AND k.until <= {now} FOR NO KEY UPDATE SKIP LOCKED) AS k),
c AS MATERIALIZED (SELECT {now} AS t, count(*) FROM f),
u AS (UPDATE {lock} AS k SET version = k.version + 1, epoch = greatest(k.epoch + 1, c.t),
    turns = k.turns + 1, owner = f.id,
    session = :session::text, node = :node::text, broken = '', since = c.t, until = c.t + f.ttl
  FROM f, c WHERE k.name = f.name AND c.t <= :latest::bigint
  RETURNING k.owner, k.epoch, k.since),
i AS (INSERT INTO {lock} (` + columns + `)
  SELECT a.name, a.lock_key, c.t, c.t, 1, a.id, :session::text, :node::text, '', c.t, c.t + a.ttl, '', '' FROM a, c
  WHERE c.t <= :latest::bigint AND (SELECT count(*) FROM {lock} AS k WHERE k.name = a.name) = 0 ORDER BY a.name
  ON CONFLICT (name) DO NOTHING RETURNING owner, epoch, since)
SELECT owner, epoch, since FROM u UNION ALL SELECT owner, epoch, since FROM i`,

	freeMany: `WITH a AS MATERIALIZED (SELECT * FROM unnest(:names::bytea[], :ids::text[]) AS a(name, id) ORDER BY name),
l AS MATERIALIZED (SELECT k.name FROM a CROSS JOIN LATERAL (SELECT k.name FROM {lock} AS k
  WHERE k.name = a.name AND k.owner = a.id AND k.until > {now} AND k.queue = '' FOR UPDATE SKIP LOCKED) AS k),
u AS (UPDATE {lock} AS k SET owner = '', session = '', node = '', broken = '', until = 0, version = k.version + 1
  FROM l WHERE k.name = l.name RETURNING l.name)
SELECT name, set_config('synchronous_commit', 'off', true) FROM u`,

	judge: judgePostgres,
}

const postgresRenewShare = `UPDATE {lock} AS k SET holders = overlay(k.holders placing lpad(
    greatest(substr(k.holders, strpos(k.holders, :mark::text) + length(:mark::text), 16)::bigint, c.t + :ttl::bigint)::text,
    16, '0') from strpos(k.holders, :mark::text) + length(:mark::text) for 16),
  until = greatest(k.until, c.t + :ttl::bigint), version = k.version + 1
FROM c WHERE k.name = :name AND k.owner = '` + sharedOwner + `' AND strpos(k.holders, :mark::text) > 0
  AND substr(k.holders, strpos(k.holders, :mark::text) + length(:mark::text), 16) > lpad(c.t::text, 16, '0')`

const postgresJoin = `UPDATE {lock} SET queue = queue || :line::text, version = version + 1
WHERE name = :name AND until > {now} AND owner <> :id AND strpos(queue, :mark::text) = 0 AND {tick} <= :latest`

const postgresSwap = `WITH l AS MATERIALIZED (SELECT name FROM {lock} WHERE name = :name AND version = :version %s),
c AS MATERIALIZED (SELECT l.name, {tick} AS t FROM l)
UPDATE {lock} AS k SET version = k.version + 1, epoch = :epoch, turns = :turns, owner = :owner,
  session = :session, node = :node, broken = :broken, since = :since, until = :until, queue = :queue,
  holders = :holders
FROM c WHERE k.name = c.name AND k.version = :version AND c.t <= :latest::bigint`

const postgresMark = `WITH l AS MATERIALIZED (SELECT name FROM {lock} WHERE name = :name AND version = :version %s),
c AS MATERIALIZED (SELECT l.name, {tick} AS t FROM l),
u AS (UPDATE {lock} AS k SET version = k.version + 1, epoch = :epoch, turns = :turns, owner = :owner,
  session = :session, node = :node, broken = :broken, since = :since, until = :until, queue = :queue,
  holders = :holders
  FROM c WHERE k.name = c.name AND k.version = :version AND c.t <= :latest::bigint RETURNING k.name)
INSERT INTO {session} AS s (session, node, live, told) SELECT :holder::text, '', 0, :line::text FROM u
ON CONFLICT (session) DO UPDATE SET told = s.told || excluded.told`

// judgePostgres refuses an isolation with which statements fail that meet.
func judgePostgres(s sqldialect.Server) error {
	if s.Isolation == "read committed" || s.Isolation == "read uncommitted" { // which PostgreSQL does not tell apart
		return nil
	}
	return sqldialect.Refusal("the connection's default isolation is %s, where statements that meet fail instead of "+
		"waiting; give the pool of the locks default_transaction_isolation 'read committed'", s.Isolation)
}
