package sqlstore

import (
	"context"
	_ "embed"
	"strconv"
	"strings"
	"time"
)

//go:embed ddl/sqlite.sql
var sqliteDDL string

// clockMicros is the machine's clock, which all processes that use one file share.
func clockMicros() int64 { return time.Now().UnixMicro() }

// SQLite's own clock has milliseconds; it is good enough for a request that may have waited to refuse itself.
var sqlite = dialect{
	name: SQLite, quote: `"`, ddl: sqliteDDL,
	now:  `:now`,
	tick: `CAST((julianday('now') - 2440587.5) * 86400000000 AS integer)`,

	take: `INSERT INTO {lock} AS k (` + columns + `)
SELECT :name, :key, c.t, c.t, 1, :id, :session, :node, '', c.t, c.t + :ttl, '' FROM (SELECT {now} AS t) AS c
WHERE {tick} <= :latest
  AND NOT EXISTS (SELECT 1 FROM {lock} AS b WHERE b.name = :name AND (b.until > c.t OR b.owner <> '' OR b.queue <> ''))
ON CONFLICT (name) DO UPDATE SET version = k.version + 1, epoch = max(k.epoch + 1, excluded.epoch),
  turns = k.turns + 1, owner = excluded.owner, session = excluded.session, node = excluded.node, broken = '',
  since = excluded.since, until = excluded.until
WHERE k.owner = '' AND k.until <= excluded.since AND k.queue = ''
RETURNING epoch, since`,
	swap:    mysqlSwap,
	patient: mysqlSwap,
	join: `UPDATE {lock} SET queue = queue || :line, version = version + 1
WHERE name = :name AND until > {now} AND owner <> :id AND instr(queue, :mark) = 0 AND {tick} <= :latest`,
	leave: `UPDATE {lock} SET queue = replace(queue, :line, ''), version = version + 1
WHERE name = :name AND instr(queue, :line) > 0`,
	free: `UPDATE {lock} SET owner = '', session = '', node = '', broken = '', until = 0, version = version + 1
WHERE name = :name AND owner = :id AND until > {now} AND queue = ''`,
	renew: `UPDATE {lock} SET until = max(until, {now} + :ttl), version = version + 1
WHERE name IN (:names) AND (name, owner) IN (VALUES :pairs) AND until > {now} AND broken = ''`,
	beat: `INSERT INTO {session} (session, node, live, told) VALUES (:session, :node, {now} + :liveness, '')
ON CONFLICT (session) DO UPDATE SET live = excluded.live`,
	tell: `INSERT INTO {session} (session, node, live, told) VALUES (:holder, '', 0, :line)
ON CONFLICT (session) DO UPDATE SET told = told || excluded.told`,
	examine: examineSQLite,
}

// examineSQLite refuses versions that lack what the statements use, and databases that no other process sees.
func examineSQLite(ctx context.Context, q querier) error {
	rows, err := q.QueryContext(ctx, "SELECT sqlite_version()")
	if err != nil {
		return err
	}
	var version string
	if err := scanOne(rows, &version); err != nil {
		return err
	}
	return judgeSQLite(version)
}

func judgeSQLite(version string) error {
	parts := strings.SplitN(version, ".", 3)
	major, _ := strconv.Atoi(parts[0])
	minor := 0
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	if major < 3 || major == 3 && minor < 35 {
		return refusal("SQLite is %s; 3.35 or later is needed", version)
	}
	return nil
}
