package sqlstore

import (
	"context"
	"database/sql"
	_ "embed"
	"strconv"
	"strings"
)

//go:embed ddl/mysql.sql
var mysqlDDL string

// MySQL's UPDATE returns nothing, so that a step is made of a read and a change that does nothing if the row is
// another one by then. UTC_TIMESTAMP is the moment at which the statement began; it knows no summer time.
var mysql = dialect{
	name: MySQL, quote: "`", ddl: mysqlDDL,
	now:  `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`,
	tick: `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`,
	grants: `GRANT SELECT, INSERT, UPDATE, DELETE ON {lock} TO the_user;
GRANT SELECT, INSERT, UPDATE, DELETE ON {session} TO the_user;`,

	insert: `INSERT INTO {lock} (` + columns + `)
SELECT :name, :key, :since, :epoch, 1, :owner, :session, :node, '', :since, :until, '' FROM DUAL WHERE {tick} <= :latest
ON DUPLICATE KEY UPDATE name = {lock}.name`,
	swap:    mysqlSwap,
	patient: mysqlSwap,
	join: `UPDATE {lock} SET queue = CONCAT(queue, :line), version = version + 1
WHERE name = :name AND until > {now} AND owner <> :id AND LOCATE(:mark, queue) = 0 AND {tick} <= :latest`,
	leave: `UPDATE {lock} SET queue = REPLACE(queue, :line, ''), version = version + 1
WHERE name = :name AND LOCATE(:line, queue) > 0`,
	free: `UPDATE {lock} SET owner = '', session = '', node = '', broken = '', until = 0, version = version + 1
WHERE name = :name AND owner = :id AND until > {now} AND queue = ''`,
	renew: `UPDATE {lock} SET until = GREATEST(until, {now} + :ttl), version = version + 1
WHERE name IN (:names) AND (name, owner) IN (:pairs) AND until > {now} AND broken = ''`,
	beat: `INSERT INTO {session} (session, node, live, told) VALUES (:session, :node, {now} + :liveness, '')
ON DUPLICATE KEY UPDATE live = {now} + :liveness`,
	mark: mysqlMark, force: mysqlMark,
	examine: examineMySQL,
}

const mysqlSwap = `UPDATE {lock} SET version = version + 1, epoch = :epoch, turns = :turns, owner = :owner,
  session = :session, node = :node, broken = :broken, since = :since, until = :until, queue = :queue
WHERE name = :name AND version = :version AND {tick} <= :latest`

const mysqlMark = `UPDATE {lock} AS k LEFT JOIN {session} AS s ON s.session = :holder SET k.version = k.version + 1,
  k.epoch = :epoch, k.turns = :turns, k.owner = :owner, k.session = :session, k.node = :node, k.broken = :broken,
  k.since = :since, k.until = :until, k.queue = :queue, s.told = CONCAT(s.told, :line)
WHERE k.name = :name AND k.version = :version AND {tick} <= :latest`

// examineMySQL refuses servers and settings that would break what locks rest on.
func examineMySQL(ctx context.Context, q querier) error {
	set, err := mysqlVariables(ctx, q)
	if err != nil {
		return err
	}
	return set.judge()
}

func (set mysqlServer) judge() error {
	version := set["version"]
	isolation := set["transaction_isolation"] + set["tx_isolation"] // the second is MariaDB's name for it, up to 11.1
	switch {
	case strings.Contains(version, "TiDB") || strings.Contains(set["version_comment"], "TiDB"):
		return refusal("the server is TiDB %s, with which locks were never tested", version)
	case !mysqlRecent(version):
		return refusal("the server has version %s; MySQL 8.0 or MariaDB 10.6 or later is needed", version)
	case set["read_only"] == "ON" || set["super_read_only"] == "ON" || set["innodb_read_only"] == "ON":
		return errReadOnly
	case set["log_bin"] == "ON" && set["binlog_format"] == "STATEMENT" && strings.HasPrefix(isolation, "READ-"):
		return refusal("binlog_format is STATEMENT and the isolation %s, with which the server refuses every write; "+
			"set binlog_format to ROW", isolation)
	}
	return nil
}

// mysqlServer is what a server says of itself, by the names of its variables.
type mysqlServer map[string]string

func mysqlVariables(ctx context.Context, q querier) (mysqlServer, error) {
	rows, err := q.QueryContext(ctx, `SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'transaction_isolation',
'tx_isolation', 'read_only', 'super_read_only', 'innodb_read_only', 'log_bin', 'binlog_format')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	set := make(mysqlServer)
	for rows.Next() {
		var name, value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		set[strings.ToLower(name.String)] = value.String
	}
	if set["transaction_isolation"] != "" {
		delete(set, "tx_isolation") // both, in MariaDB 11.1 and later
	}
	return set, rows.Err()
}

// mysqlRecent reads a version such as 8.0.36 or 10.11.6-MariaDB.
func mysqlRecent(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err != nil || err2 != nil {
		return false
	}
	if strings.Contains(version, "MariaDB") {
		return major > 10 || major == 10 && minor >= 6
	}
	return major >= 8
}
