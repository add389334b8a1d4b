package sqlcalls

import (
	"go/ast"
	"go/types"
	"regexp"
	"strings"

	"github.com/lockgen/lockgen/cmd/locklint/lockcheck/internal/clients"
)

// A Holder is what a statement is sent through. It decides on which session the statement runs.
type Holder uint8

const (
	Nothing     Holder = iota // no client of a database
	Unknown                   // a pool, a connection or a transaction
	Pool                      // each statement runs on a connection of the pool's choice
	Handle                    // of gorm, by its name a pool, but perhaps that of a transaction
	Connection                // one connection, which goes back to its pool
	Own                       // one connection, which no pool has
	Transaction               // the connection of a transaction
)

// holders are the types that statements are sent through. What gorm's DB is, its value must say.
var holders = map[string]Holder{
	"database/sql.DB":   Pool,
	"database/sql.Conn": Connection,
	"database/sql.Tx":   Transaction,

	"github.com/jmoiron/sqlx.DB":   Pool,
	"github.com/jmoiron/sqlx.Conn": Connection,
	"github.com/jmoiron/sqlx.Tx":   Transaction,

	"github.com/jackc/pgx.ConnPool":        Pool,
	"github.com/jackc/pgx.Conn":            Own,
	"github.com/jackc/pgx.Tx":              Transaction,
	"github.com/jackc/pgx/v4.Conn":         Own,
	"github.com/jackc/pgx/v4.Tx":           Transaction,
	"github.com/jackc/pgx/v4/pgxpool.Pool": Pool,
	"github.com/jackc/pgx/v4/pgxpool.Conn": Connection,
	"github.com/jackc/pgx/v4/pgxpool.Tx":   Transaction,
	"github.com/jackc/pgx/v5.Conn":         Own,
	"github.com/jackc/pgx/v5.Tx":           Transaction,
	"github.com/jackc/pgx/v5/pgxpool.Pool": Pool,
	"github.com/jackc/pgx/v5/pgxpool.Conn": Connection,
	"github.com/jackc/pgx/v5/pgxpool.Tx":   Transaction,

	"github.com/uptrace/bun.DB":      Pool,
	"github.com/uptrace/bun.Conn":    Connection,
	"github.com/uptrace/bun.Tx":      Transaction,
	"github.com/go-pg/pg.DB":         Pool,
	"github.com/go-pg/pg.Tx":         Transaction,
	"github.com/go-pg/pg/v9.DB":      Pool,
	"github.com/go-pg/pg/v9.Conn":    Connection,
	"github.com/go-pg/pg/v9.Tx":      Transaction,
	"github.com/go-pg/pg/v10.DB":     Pool,
	"github.com/go-pg/pg/v10.Conn":   Connection,
	"github.com/go-pg/pg/v10.Tx":     Transaction,
	"xorm.io/xorm.Engine":            Pool,
	"github.com/go-xorm/xorm.Engine": Pool,

	"gorm.io/gorm.DB":           Unknown,
	"github.com/jinzhu/gorm.DB": Unknown,
}

// typeName is the name of a type, or of what it points to, with the path of its package.
func typeName(t types.Type) string {
	if t == nil {
		return ""
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return clients.WithoutVendor(n.Obj().Pkg().Path()) + "." + n.Obj().Name()
}

func isGorm(t types.Type) bool {
	name := typeName(t)
	return name == "gorm.io/gorm.DB" || name == "github.com/jinzhu/gorm.DB"
}

// holderOf says what a statement is sent through: x is what the method of a type is called on. An interface over a
// client is unknown, but for the libraries' own ones.
func (f *finder) holderOf(x ast.Expr, recv types.Type) Holder {
	if isGorm(recv) {
		return f.gormHolder(x, 0)
	}
	if h, ok := holders[typeName(recv)]; ok {
		return h
	}
	if types.IsInterface(recv) {
		return Unknown
	}
	return Nothing
}

// scoped marks the names of what a transaction or a connection of gorm's is handed on as.
var scoped = regexp.MustCompile(`(?i)tx|trans|sess|conn`)

// gormHolder follows a chain of gorm's methods to where it starts: a variable of a package is the pool, the parameter
// of a literal that is handed to Transaction or Connection is not, and neither is what Begin returns. What parameters
// and fields are nobody knows for sure: their names say it.
func (f *finder) gormHolder(x ast.Expr, depth int) Holder {
	if depth > maxDepth {
		return Unknown
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.CallExpr:
		return f.gormResult(x, depth)
	case *ast.SelectorExpr:
		v, ok := f.pass.TypesInfo.Uses[x.Sel].(*types.Var)
		switch {
		case !ok || scoped.MatchString(v.Name()):
		case v.IsField():
			return Handle
		default:
			return Pool // a variable of another package
		}
	case *ast.Ident:
		v, ok := f.pass.TypesInfo.Uses[x].(*types.Var)
		switch {
		case !ok || scoped.MatchString(v.Name()):
			return Unknown
		case v.Parent() == f.pass.Pkg.Scope():
			return Pool
		}
		value, assigned := f.assigned[v]
		switch {
		case value != nil:
			return f.gormHolder(value, depth+1)
		case !assigned && f.isParam(v):
			return Handle
		}
	}
	return Unknown
}

// gormResult is gormHolder for what a call returns.
func (f *finder) gormResult(x *ast.CallExpr, depth int) Holder {
	sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
	if !ok {
		return Unknown
	}
	switch name := f.calleeName(x); {
	case name == "gorm.io/gorm.Open" || name == "github.com/jinzhu/gorm.Open":
		return Pool
	case !isGorm(f.pass.TypesInfo.TypeOf(sel.X)):
		return Unknown
	case strings.HasPrefix(sel.Sel.Name, "Begin"):
		return Transaction
	}
	return f.gormHolder(sel.X, depth+1)
}

// isParam reports whether a variable is a parameter of a declared function, rather than of a literal.
func (f *finder) isParam(v *types.Var) bool {
	cur, ok := f.root.FindByPos(v.Pos(), v.Pos())
	if !ok {
		return false
	}
	for c := range cur.Enclosing((*ast.FuncLit)(nil), (*ast.FuncDecl)(nil)) {
		_, declared := c.Node().(*ast.FuncDecl)
		return declared
	}
	return false
}
