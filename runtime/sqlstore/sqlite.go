package sqlstore

import (
	_ "embed"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

//go:embed ddl/sqlite.sql
var sqliteDDL string

// clockMicros is the machine's clock, which all processes that use one file share.
func clockMicros() int64 { return time.Now().UnixMicro() }

// SQLite's own clock has milliseconds; it is good enough for a request that may have waited to refuse itself.
var sqlite = dialect{
	numbered: "?", prepares: true, ddl: sqliteDDL,
	now:  `:now`,
	tick: `CAST((julianday('now') - 2440587.5) * 86400000000 AS integer)`,

	// A row that is not replaced is not written either: nothing has to keep the conflict from happening.
	seize: sqliteSeize, plant: sqliteSeize,
	takeMany: `INSERT INTO {lock} AS k (` + columns + `)
SELECT column1, column2, {now}, {now}, 1, column3, :session, :node, '', {now}, {now} + column4, '', ''
FROM (VALUES :claims) WHERE {tick} <= :latest
` + sqliteTaken + `
RETURNING owner, epoch, since`,
	freeMany: `UPDATE {lock} SET owner = '', session = '', node = '', broken = '', until = 0, version = version + 1
WHERE name IN (:names) AND (name, owner) IN (VALUES :pairs) AND until > {now} AND queue = ''
RETURNING name, ''`,
	insert: `INSERT INTO {lock} (` + columns + `)
SELECT :name, :key, :since, :epoch, 1, :owner, '', '', '', :since, :until, '', :holders WHERE {tick} <= :latest
ON CONFLICT (name) DO NOTHING`,
	swap:    mysqlSwap,
	patient: mysqlSwap,
	beside:  mysqlSwap,
	join:    sqliteJoin,
	joinShare: sqliteJoin + ` AND (owner <> '` + sharedOwner + `' OR queue <> '')
AND instr(holders, :mark) = 0`,
	leave: `UPDATE {lock} SET queue = replace(queue, :line, ''), version = version + 1
WHERE name = :name AND instr(queue, :line) > 0 AND owner <> '` + sharedOwner + `'`,
	free: `UPDATE {lock} SET owner = '', session = '', node = '', broken = '', until = 0, version = version + 1
WHERE name = :name AND owner = :id AND until > {now} AND queue = ''`,
	renew: `UPDATE {lock} SET until = max(until, {now} + :ttl), version = version + 1
WHERE name IN (:names) AND (name, owner) IN (VALUES :pairs) AND until > {now} AND broken = ''`,
	renewShare: sqliteRenewShare, renewShareLate: sqliteRenewShare,
	beat: `INSERT INTO {session} (session, node, live, told) VALUES (:session, :node, {now} + :liveness, '')
ON CONFLICT (session) DO UPDATE SET live = excluded.live`,
	tell: `INSERT INTO {session} (session, node, live, told) VALUES (:holder, '', 0, :line)
ON CONFLICT (session) DO UPDATE SET told = told || excluded.told`,
	judge: func(sqldialect.Server) error { return nil },
}

const sqliteSeize = `INSERT INTO {lock} AS k (` + columns + `)
SELECT :name, :key, {now}, {now}, 1, :id, :session, :node, '', {now}, {now} + :ttl, '', '' WHERE {tick} <= :latest
` + sqliteTaken

const sqliteTaken = `ON CONFLICT (name) DO UPDATE SET version = k.version + 1, epoch = excluded.epoch,
  turns = k.turns + 1, owner = excluded.owner, session = excluded.session, node = excluded.node, broken = '',
  since = excluded.since, until = excluded.until
WHERE k.owner = '' AND k.until <= excluded.since AND k.queue = '' AND k.epoch < excluded.epoch`

const sqliteRenewShare = `UPDATE {lock} SET holders = substr(holders, 1, instr(holders, :mark) + length(:mark) - 1)
    || printf('%016d', max(CAST(substr(holders, instr(holders, :mark) + length(:mark), 16) AS integer), {now} + :ttl))
    || substr(holders, instr(holders, :mark) + length(:mark) + 16),
  until = max(until, {now} + :ttl), version = version + 1
WHERE name = :name AND owner = '` + sharedOwner + `' AND instr(holders, :mark) > 0
  AND CAST(substr(holders, instr(holders, :mark) + length(:mark), 16) AS integer) > {now}`

const sqliteJoin = `UPDATE {lock} SET queue = queue || :line, version = version + 1
WHERE name = :name AND until > {now} AND owner <> :id AND instr(queue, :mark) = 0 AND {tick} <= :latest`
