package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"

	"github.com/lockgen/lockgen/internal/sqldialect"
)

// Dialect is the SQL that a database speaks.
type Dialect string

const (
	// Postgres is PostgreSQL 12 or later.
	Postgres Dialect = "postgres"
	// MySQL is MySQL 8.0 or later, or MariaDB 10.6 or later, with InnoDB.
	MySQL Dialect = "mysql"
	// SQLite is SQLite 3.35 or later.
	SQLite Dialect = "sqlite"
)

// querier is a *sql.DB, or a *sql.Conn taken from one.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// dialect is how one kind of database is asked. Its statements are templates, see [tables.text]. A statement that is
// empty does not exist there, and the step is made of others.
type dialect struct {
	numbered string // what the number of a parameter comes after; "": parameters are ?, and have none
	prepares bool   // statements are prepared: parsing them anew costs more than to keep them
	now      string // the server's clock, µs
	tick     string // the same, at the moment at which a statement that has waited goes on
	ddl      string
	grants   string
	booted   string // what adds the moment of the server's start to the sessions, as the session bootSession

	take string // acquires a lock that is free and has no queue, and returns its owner, epoch and since
	// seize is take where the statement can only say whether it did that, and leaves alone what has an epoch ahead of the
	// clock: both epoch and since are the clock then. plant is the same for a lock that has no row, or may have none.
	seize, plant string

	insert  string // makes the row of a lock that has none, and takes the lock; its answer is read from the row
	swap    string // C: replaces a row that still has its version
	patient string // the same, and it waits for the end of a guarded transaction
	beside  string // the same, beside guarded transactions
	join    string
	// joinShare is join for a lease that may share the lock: it does nothing where that might be granted at once.
	joinShare string
	// joinOver joins the queue of a lease that is over and whose holder is in a guarded transaction; "": there is no guard.
	joinOver string
	leave    string
	free     string // releases a lock without a queue
	// renew renews leases that hold their locks alone, without those whose rows somebody has locked.
	renew string
	// renewShare renews one of those who hold a lock together, if nobody has locked the row. renewShareLate waits for that.
	renewShare, renewShareLate string

	beat  string // H
	mark  string // B: swap, and what its process is told, in one step; "": in a transaction
	force string // the same, and it waits for the end of a guarded transaction
	tell  string // the second half of it alone

	// takeMany and freeMany are take and free for many locks, in one statement. What returns rows names those that it
	// has changed; otherwise it changes all or is followed by a look.
	takeMany, freeMany string

	bound func(text string) string      // has a statement of MySQL wait for no table for longer than callTime
	judge func(sqldialect.Server) error // refuses settings with which it cannot work
}

// bootSession is no session's name.
const bootSession = "-"

// tables are a dialect's statements on the tables of one store.
type tables struct {
	*dialect
	sqldialect.Tables
	names  *strings.Replacer
	parsed sync.Map // of [template], by their text
}

// statements that all dialects have in common.
const (
	columns = `name, lock_key, version, epoch, turns, owner, session, node, broken, since, until, queue, holders`

	readSQL = `SELECT ` + columns + `, {now} FROM {lock} WHERE name IN (:names)`
	// pollSQL leaves out what is large, and also asks which leases of the session were broken.
	pollSQL = `SELECT name, owner, node, turns, epoch, since, until, broken, holders, {now},
  (SELECT told FROM {session} WHERE session = :session)
FROM {lock} WHERE name IN (:names)`
	listSQL = `SELECT ` + columns + `, {now} FROM {lock} WHERE name >= :from AND name < :below AND until > {now}
ORDER BY name LIMIT :limit`
	renewOneSQL = `UPDATE {lock} SET version = version + 1,
  until = CASE WHEN until < {now} + :ttl THEN {now} + :ttl ELSE until END
WHERE name = :name AND owner = :id AND until > {now} AND broken = ''`
	// recallSQL tells behind which readers somebody waits.
	recallSQL = `SELECT name FROM {lock} WHERE name IN (:names) AND owner = '` + sharedOwner + `' AND queue <> ''`
	livesSQL  = `SELECT session, live FROM {session} WHERE session IN (:sessions){booted}`
	toldSQL   = `SELECT told FROM {session} WHERE session = :session`
	ackSQL    = `UPDATE {session} SET told = replace(told, :line, '') WHERE session = :session`
	sweepSQL  = `SELECT name FROM {lock} WHERE name > :after ORDER BY name LIMIT :limit`
	// A row that nobody has wanted for so long is only there for its epoch, which the clock has passed by then.
	dropSQL = `DELETE FROM {lock}
WHERE name IN (:names) AND until < {now} - :age AND since < {now} - :age AND name <> :schema`
	dropSessionsSQL = `DELETE FROM {session} WHERE live < {now} - :age`
	schemaSQL       = `SELECT epoch, {now} FROM {lock} WHERE name = :schema`
	lookSQL         = `SELECT session, node, live, told FROM {session} WHERE 1 = 0`
)

var dialects = map[Dialect]*dialect{Postgres: &postgres, MySQL: &mysql, SQLite: &sqlite}

// newTables returns the statements for tables called base_lock and base_session.
func newTables(name Dialect, base string) (*tables, error) {
	d := dialects[name]
	if d == nil {
		return nil, fmt.Errorf("dialect %q; use sqlstore.Postgres, sqlstore.MySQL (also for MariaDB) or sqlstore.SQLite",
			name)
	}
	speaks := sqldialect.Dialect(name)
	schema, last, err := speaks.SplitName(base, maxIdentifier)
	if err != nil {
		return nil, err
	}
	usage := ""
	if schema != "" {
		usage = "GRANT USAGE ON SCHEMA " + strings.TrimSuffix(schema, ".") + " TO the_role;\n"
	}
	t := &tables{dialect: d}
	t.names = strings.NewReplacer(
		"{lock}", schema+speaks.Quote(last+"_lock"), "{session}", schema+speaks.Quote(last+"_session"),
		"{now}", d.now, "{tick}", d.tick, "{usage}", usage, "{booted}", d.booted,
	)
	t.Tables = sqldialect.Tables{
		Dialect: speaks, Of: "lock", Names: base + "_lock and " + base + "_session", Creator: "sqlstore.CreateTables",
		Schema: sqldialect.SchemaOf(base),
		DDL:    t.names.Replace(d.ddl), Grants: t.names.Replace(d.grants),
	}
	return t, nil
}

// maxIdentifier leaves room for what is added to a table's name: PostgreSQL cuts off after 63.
const maxIdentifier = 55
