package sqlstore

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

//go:embed ddl/mysql.sql
var mysqlDDL string

// MySQL's UPDATE returns nothing but a number that it may choose, the last insert ID. That is enough for a lock that is
// free. Any other step is made of a read and a change that does nothing if the row is another one by then. UTC_TIMESTAMP
// is the moment at which the statement began; it knows no summer time.
var mysql = dialect{
	ddl:  mysqlDDL,
	now:  `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`,
	tick: `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`,
	grants: `GRANT SELECT, INSERT, UPDATE, DELETE ON {lock} TO the_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON {session} TO the_user;`,

	insert: `INSERT INTO {lock} (` + columns + `)
SELECT :name, :key, :since, :epoch, 1, :owner, :session, :node, '', :since, :until, '', :holders FROM DUAL WHERE {tick} <= :latest
ON DUPLICATE KEY UPDATE name = {lock}.name`,
	seize: `UPDATE {lock} SET version = version + 1, epoch = LAST_INSERT_ID({now}), turns = turns + 1, owner = :id,
  session = :session, node = :node, broken = '', since = {now}, until = {now} + :ttl
WHERE name = :name` + mysqlFree,
	plant: `INSERT INTO {lock} (` + columns + `)
SELECT :name, :key, {now}, LAST_INSERT_ID({now}), 1, :id, :session, :node, '', {now}, {now} + :ttl, '', ''
FROM DUAL WHERE {tick} <= :latest`,
	takeMany: `UPDATE {lock} FORCE INDEX (PRIMARY) SET version = version + 1, epoch = LAST_INSERT_ID({now}), turns = turns + 1,
  owner = ELT(FIELD(name, :names), :ids), session = :session, node = :node, broken = '', since = {now},
  until = {now} + CAST(ELT(FIELD(name, :names), :ttls) AS SIGNED)
WHERE name IN (:names)` + mysqlFree,
	freeMany: `UPDATE {lock} FORCE INDEX (PRIMARY) SET owner = '', session = '', node = '', broken = '', until = 0,
  version = version + 1
WHERE name IN (:names) AND (name, owner) IN (:pairs) AND until > {now} AND queue = ''`,
	swap:    mysqlSwap,
	patient: mysqlSwap,
	beside:  mysqlSwap,
	join:    mysqlJoin,
	joinShare: mysqlJoin + ` AND (owner <> '` + sharedOwner + `' OR queue <> '')
AND LOCATE(:mark, holders) = 0`,
	leave: `UPDATE {lock} SET queue = REPLACE(queue, :line, ''), version = version + 1
WHERE name = :name AND LOCATE(:line, queue) > 0 AND owner <> '` + sharedOwner + `'`,
	free: `UPDATE {lock} SET owner = '', session = '', node = '', broken = '', until = 0, version = version + 1
WHERE name = :name AND owner = :id AND until > {now} AND queue = ''`,
	renew: `UPDATE (SELECT DISTINCT name FROM {lock} FORCE INDEX (PRIMARY)
  WHERE name IN (:names) AND (name, owner) IN (:pairs) AND until > {now} AND broken = '' FOR UPDATE SKIP LOCKED) AS l
` + mysqlThoseOf + `k.until = GREATEST(k.until, CAST(LAST_INSERT_ID({now}) AS SIGNED) + :ttl), k.version = k.version + 1`,
	renewShare: `UPDATE (SELECT DISTINCT name FROM {lock} FORCE INDEX (PRIMARY) WHERE name = :name FOR UPDATE SKIP LOCKED) AS l
` + mysqlThoseOf + mysqlRenewShare,
	renewShareLate: `UPDATE {lock} AS k SET ` + mysqlRenewShare + ` AND k.name = :name`,
	beat: `INSERT INTO {session} (session, node, live, told) VALUES (:session, :node, {now} + :liveness, '')
ON DUPLICATE KEY UPDATE live = {now} + :liveness`,
	mark: mysqlMark, force: mysqlMark,
	bound: boundMySQL,
	judge: judgeMySQL,
}

// mysqlThoseOf has the rows read that were locked before, and no others: whatever else is read waits for its lock.
const mysqlThoseOf = `STRAIGHT_JOIN {lock} AS k FORCE INDEX (PRIMARY) ON k.name = l.name SET `

const mysqlRenewShare = `k.holders = INSERT(k.holders, LOCATE(:mark, k.holders) + LENGTH(:mark), 16, LPAD(GREATEST(
    CAST(SUBSTRING(k.holders, LOCATE(:mark, k.holders) + LENGTH(:mark), 16) AS SIGNED), {now} + :ttl), 16, '0')),
  k.until = GREATEST(k.until, {now} + :ttl), k.version = k.version + 1
WHERE k.owner = '` + sharedOwner + `' AND LOCATE(:mark, k.holders) > 0
  AND CAST(SUBSTRING(k.holders, LOCATE(:mark, k.holders) + LENGTH(:mark), 16) AS SIGNED) > {now}`

// mysqlFree is when a lock may be taken without a look at its row. Its epoch is that of the clock then.
const mysqlFree = ` AND owner = '' AND until <= {now} AND queue = '' AND epoch < {now} AND {tick} <= :latest`

const mysqlJoin = `UPDATE {lock} SET queue = CONCAT(queue, :line), version = version + 1
WHERE name = :name AND until > {now} AND owner <> :id AND LOCATE(:mark, queue) = 0 AND {tick} <= :latest`

const mysqlSwap = `UPDATE {lock} SET version = version + 1, epoch = :epoch, turns = :turns, owner = :owner,
  session = :session, node = :node, broken = :broken, since = :since, until = :until, queue = :queue,
  holders = :holders
WHERE name = :name AND version = :version AND {tick} <= :latest`

const mysqlMark = `UPDATE {lock} AS k LEFT JOIN {session} AS s ON s.session = :holder SET k.version = k.version + 1,
  k.epoch = :epoch, k.turns = :turns, k.owner = :owner, k.session = :session, k.node = :node, k.broken = :broken,
  k.since = :since, k.until = :until, k.queue = :queue, k.holders = :holders, s.told = CONCAT(s.told, :line)
WHERE k.name = :name AND k.version = :version AND {tick} <= :latest`

// judgeMySQL refuses a log with which the server refuses every write.
func judgeMySQL(s sqldialect.Server) error {
	if !s.StatementLog || !strings.HasPrefix(s.Isolation, "read ") {
		return nil
	}
	return sqldialect.Refusal("binlog_format is STATEMENT and the isolation %s, with which the server refuses every write; "+
		"set binlog_format to ROW", s.Isolation)
}

// boundMySQL has a statement wait for no longer than callTime for a table that somebody has locked, as backups and migrations
// do. By default it waits for a year, and would take a lock then whose caller has long gone. To MariaDB it is a comment; the
// prefix that would do there is unknown to some proxies.
func boundMySQL(text string) string {
	verb, rest, _ := strings.Cut(text, " ")
	return fmt.Sprintf("%s /*+ SET_VAR(lock_wait_timeout = %d) */ %s", verb, int(callTime.Seconds()), rest)
}
