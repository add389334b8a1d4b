package lua

import "github.com/yuin/gopher-lua/ast"

// This file knows the loops by which a script does the same to each of its keys:
//
//	for i, key in ipairs(KEYS) do redis.call("DEL", key) end
//	for i = 1, #KEYS do redis.call("DEL", KEYS[i]) end

// anyKey is the key that such a loop has in hand.
var anyKey = &Expr{Kind: "each"}

// IsEach reports whether an expression is each of the keys in turn.
func (x *Expr) IsEach() bool { return x.Kind == anyKey.Kind }

// An eachKey is what a loop over the keys calls the number of a key, and the key itself.
type eachKey struct{ index, key string }

// each reads a loop over the keys.
func (r *reader) each(names eachKey, body []ast.Stmt) *stmt {
	r.loops = append(r.loops, names)
	out := &stmt{kind: "each", body: [][]*stmt{r.block(body)}}
	r.loops = r.loops[:len(r.loops)-1]
	return out
}

// isEach reports whether an expression is the key that a loop around it has in hand.
func (r *reader) isEach(x ast.Expr) bool {
	for _, l := range r.loops {
		switch x := x.(type) {
		case *ast.IdentExpr:
			if x.Value == l.key && l.key != "" {
				return true
			}
		case *ast.AttrGetExpr:
			if index, ok := x.Key.(*ast.IdentExpr); ok && isKeys(x.Object) && index.Value == l.index && l.index != "" {
				return true
			}
		}
	}
	return false
}

// overKeys reports whether a loop counts the keys: for i = 1, #KEYS do.
func overKeys(s *ast.NumberForStmt) bool {
	first, ok := s.Init.(*ast.NumberExpr)
	if !ok || first.Value != "1" || s.Step != nil {
		return false
	}
	last, ok := s.Limit.(*ast.UnaryLenOpExpr)
	return ok && isKeys(last.Expr)
}

// rangesOverKeys reports whether a loop runs over the keys, as for i, key in ipairs(KEYS) do.
func rangesOverKeys(s *ast.GenericForStmt) (names eachKey, ok bool) {
	if len(s.Exprs) != 1 {
		return names, false
	}
	call, ok := s.Exprs[0].(*ast.FuncCallExpr)
	if !ok || len(call.Args) != 1 || !isKeys(call.Args[0]) {
		return names, false
	}
	if fn, ok := call.Func.(*ast.IdentExpr); !ok || fn.Value != "ipairs" && fn.Value != "pairs" {
		return names, false
	}
	names.index = s.Names[0]
	if len(s.Names) > 1 {
		names.key = s.Names[1]
	}
	return names, true
}

func isKeys(x ast.Expr) bool {
	name, ok := x.(*ast.IdentExpr)
	return ok && name.Value == "KEYS"
}

// breaks reports whether statements may leave the loop around them before its end, other than by returning.
func breaks(list []*stmt) bool {
	for _, s := range list {
		if s.kind == "break" {
			return true
		}
		if s.kind == "loop" || s.kind == "each" {
			continue // of its own
		}
		for _, body := range s.body {
			if breaks(body) {
				return true
			}
		}
	}
	return false
}

// each walks a loop over the keys. What is certain at the end of a round is certain of all keys behind the loop.
func (f *flow) each(s *stmt, g guard) guard {
	before := f.snapshot()
	after, ends := f.block(s.body[0], g)
	f.forget(before)
	if ends || breaks(s.body[0]) {
		return g
	}
	return after
}
