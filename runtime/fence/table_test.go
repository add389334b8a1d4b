package fence

import (
	"errors"
	"strings"
	"testing"
)

func TestSQL_DDL_quotesTheTable(t *testing.T) {
	for _, c := range []struct {
		sql  SQL
		want string
	}{
		{SQL{Dialect: Postgres}, `EXISTS "lockgen_fence" (`},
		{SQL{Dialect: Postgres, Table: "App.order"}, `EXISTS "App"."order" (`},
		{SQL{Dialect: MySQL, Table: "app.order"}, "EXISTS `app`.`order` ("},
		{SQL{Dialect: SQLite, Table: "_t1"}, `EXISTS "_t1" (`},
	} {
		got, err := c.sql.DDL()
		if err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %v, %s", c.sql, err, got)
		}
	}
}

func TestSQL_DDL_refuses(t *testing.T) {
	for _, s := range []SQL{
		{},
		{Dialect: "oracle"},
		{Dialect: Postgres, Table: `x"; DROP TABLE users; --`},
		{Dialect: MySQL, Table: "x`y"},
		{Dialect: SQLite, Table: "a b"},
		{Dialect: Postgres, Table: "a.b.c"},
		{Dialect: Postgres, Table: "a."},
		{Dialect: Postgres, Table: ".a"},
		{Dialect: Postgres, Table: "1a"},
		{Dialect: Postgres, Table: "tablé"},
		{Dialect: Postgres, Table: "a{table}"},
		{Dialect: Postgres, Table: strings.Repeat("a", 64)},
	} {
		if text, err := s.DDL(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, %s", s, err, text)
		}
	}
}
