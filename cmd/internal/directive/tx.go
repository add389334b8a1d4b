package directive

import "go/types"

const poolType = "*sql.DB"

func isPool(t types.Type) bool { return t != nil && isPointerTo(t, "database/sql", "DB") }

// poolOfPgx says what to do with a pool of pgx, whose transactions the wrapper does not begin.
func poolOfPgx(t types.Type) string {
	if t == nil || !isPointerTo(t, "github.com/jackc/pgx/v5/pgxpool", "Pool") {
		return ""
	}
	return "; delete tx and call pgxlisten.DoTx, which does the same with a pool of pgx, or make one with stdlib.OpenDBFromPool"
}

// tx finds the pool that the wrapper begins its transaction in, and the parameter that gets it.
func (b *binder) tx() {
	if b.d.Tx == nil {
		return
	}
	n := 0
	for _, p := range b.f.Params {
		if p.Role == RoleTx {
			n++
		}
	}
	switch {
	case n == 0 && !b.f.NeedsTypes:
		b.at(b.d.Tx.Arg, "tx", "tx=%s gives %s a transaction, and it takes none: add a parameter tx *sql.Tx, or delete tx",
			b.d.Tx.Value, b.fn())
	case n > 1:
		b.at(b.d.Tx.Arg, "tx", "tx=%s gives %s one transaction, and it takes %d: delete a parameter of type *sql.Tx",
			b.d.Tx.Value, b.fn(), n)
	}
	b.f.Tx = new(Source)
	b.pathTo("tx", b.d.Tx, b.f.Tx, isPool, poolType).resolve()
}
