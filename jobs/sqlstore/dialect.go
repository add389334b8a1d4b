package sqlstore

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockgen/lockgen/internal/sqldialect"
	lockrt "github.com/lockgen/lockgen/runtime"
)

var (
	//go:embed ddl/postgres.sql
	postgresDDL string
	//go:embed ddl/mysql.sql
	mysqlDDL string
	//go:embed ddl/sqlite.sql
	sqliteDDL string
)

// dialect is what the statements of one kind of database have of their own. Statements are templates: {job} and the
// like are tables, {now} is the server's clock, and each ? is a parameter.
type dialect struct {
	shown     string // for people
	numbered  bool   // parameters are $1, $2 and not ?
	now       string // the server's clock, µs
	forUpdate string
	// skipLocked locks those rows that nobody else has locked.
	skipLocked string
	greatest   string // of two columns
	ddl        string
	role       string // in the grants
	// limits is a statement that ends waits for locks after some ms, and the transaction of a client that has stopped.
	limits string
	// within stands before each statement and ends waits for locks after some seconds. session says that only the
	// connection can do so.
	within  string
	session bool
	// home is what tells the database apart, of the row that has it.
	home string
}

var dialects = map[sqldialect.Dialect]*dialect{
	sqldialect.Postgres: {
		shown: "PostgreSQL", numbered: true, ddl: postgresDDL, forUpdate: " FOR UPDATE",
		skipLocked: " FOR UPDATE SKIP LOCKED", greatest: "greatest",
		role:   "the_role",
		now:    `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
		home:   `body || ' ' || current_database()`, // a copy has another name
		limits: `SELECT set_config('lock_timeout', '%dms', true), set_config('idle_in_transaction_session_timeout', '5s', true)`,
	},
	sqldialect.MySQL: {
		shown: "MySQL", ddl: mysqlDDL, forUpdate: " FOR UPDATE", session: true,
		skipLocked: " FOR UPDATE SKIP LOCKED", greatest: "GREATEST", role: "the_user",
		now:  `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`,
		home: `body`,
	},
	sqldialect.SQLite: {shown: "SQLite", ddl: sqliteDDL, greatest: "max", home: `body`}, // its clock is the process's
}

// mariaDBWithin bounds waits in the statement.
const mariaDBWithin = "SET STATEMENT innodb_lock_wait_timeout = %[1]d, lock_wait_timeout = %[1]d FOR "

const (
	// lockTime is how long a step waits for a lock that the application may have, before it is taken again.
	lockTime = 5 * time.Second
	// soonLocks is the same for what schedulers ask for, where others wait for the answer: much longer than steps of other
	// nodes take. Twice that is less than a scheduler waits.
	soonLocks = time.Second
)

// tables are the statements on the tables of one store.
type tables struct {
	*dialect
	sqldialect.Tables
	schema string // quoted, with a dot; may be empty
	base   string
	isHome string // what the database says of itself; set by look
}

var tableNames = []string{"job", "run", "record", "failure", "notice", "oneoff", "node"}

// newTables returns the statements for tables whose names begin with base.
func newTables(name sqldialect.Dialect, base string) (*tables, error) {
	d := dialects[name]
	if d == nil {
		return nil, fmt.Errorf("%w: dialect %q; use sqlstore.Postgres, sqlstore.MySQL (also for MariaDB) or sqlstore.SQLite",
			lockrt.ErrOptions, name)
	}
	schema, last, err := name.SplitName(base, maxIdentifier)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lockrt.ErrOptions, err)
	}
	t := &tables{dialect: d, schema: schema, base: last}
	t.Tables = sqldialect.Tables{
		Dialect: name, Of: "job", Names: base + "_" + strings.Join(tableNames, ", _"),
		Schema: sqldialect.SchemaOf(base), Creator: "CreateTables of jobs/sqlstore",
		Refuses: "ORACLE",
	}
	t.DDL, t.Grants = t.text(d.ddl), t.grants()
	return t, nil
}

// maxIdentifier leaves room for what is added to a table's name: PostgreSQL cuts off after 63.
const maxIdentifier = 45

// text makes a statement of its template.
func (t *tables) text(template string) string {
	var b strings.Builder
	b.Grow(2 * len(template))
	for n := 0; ; {
		at := strings.IndexAny(template, "{?")
		if at < 0 {
			b.WriteString(template)
			return b.String()
		}
		b.WriteString(template[:at])
		if template[at] == '?' {
			template = template[at+1:]
			if n++; t.numbered {
				b.WriteByte('$')
				b.WriteString(strconv.Itoa(n))
			} else {
				b.WriteByte('?')
			}
			continue
		}
		name, rest, _ := strings.Cut(template[at+1:], "}")
		template = rest
		b.WriteString(t.named(name))
	}
}

// named is what stands in braces in a template: {now}, a table, one without its schema as in {bare:job}, or an index.
func (t *tables) named(name string) string {
	what, of, _ := strings.Cut(name, ":")
	switch {
	case what == "now":
		return t.now
	case what == "home":
		return t.home
	case what == "bare", what == "index" && t.Dialect == sqldialect.Postgres: // which has it in the schema of its table
		return t.quoted("", of)
	case what == "index":
		return t.quoted(t.schema, of)
	}
	return t.quoted(t.schema, what)
}

func (t *tables) quoted(schema, name string) string {
	return schema + t.Quote(t.base+"_"+name)
}

// placeholders are n parameters, for a list.
func placeholders(n int) string {
	return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")"
}
