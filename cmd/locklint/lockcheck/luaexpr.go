package lockcheck

// luaPrecedence of the binary operators: the higher binds tighter.
var luaPrecedence = map[string]int{
	"or": 1, "and": 2, "<": 3, ">": 3, "<=": 3, ">=": 3, "~=": 3, "==": 3, "..": 4, "+": 5, "-": 5, "*": 6, "/": 6,
	"%": 6, "^": 8,
}

const luaUnary = 7

func (p *luaParser) expr() *luaExpr { return p.binary(0) }

// binary reads operators that bind tighter than min. Which way equals associate makes no difference here.
func (p *luaParser) binary(min int) *luaExpr {
	defer p.enter()()
	left := p.unary()
	for p.tokens[0].kind == luaOp {
		op := p.tokens[0].text
		prec, ok := luaPrecedence[op]
		if !ok || prec <= min {
			break
		}
		p.tokens = p.tokens[1:]
		left = &luaExpr{kind: "bin", text: op, args: []*luaExpr{left, p.binary(prec)}}
	}
	return left
}

func (p *luaParser) unary() *luaExpr {
	switch {
	case p.accept("not"):
		return &luaExpr{kind: "not", args: []*luaExpr{p.binary(luaUnary)}}
	case p.accept("-"):
		x := p.binary(luaUnary)
		if x.kind == "num" {
			return &luaExpr{kind: "num", text: "-" + x.text}
		}
		return luaUnknown
	case p.accept("#"):
		p.binary(luaUnary)
		return luaUnknown
	}
	return p.operand()
}

func (p *luaParser) operand() *luaExpr {
	t := p.tokens[0]
	switch {
	case t.kind == luaString:
		p.tokens = p.tokens[1:]
		return &luaExpr{kind: "str", text: t.text}
	case t.kind == luaNumber:
		p.tokens = p.tokens[1:]
		return &luaExpr{kind: "num", text: t.text}
	case t.kind == luaOp && (t.text == "nil" || t.text == "true" || t.text == "false"):
		p.tokens = p.tokens[1:]
		return &luaExpr{kind: "const", text: t.text}
	case p.accept("..."):
		return luaUnknown
	case p.peek("{"):
		p.table()
		return luaUnknown
	}
	return p.suffixed()
}

// suffixed reads a name or a parenthesis with the selections and calls that follow it.
func (p *luaParser) suffixed() *luaExpr {
	defer p.enter()()
	var x *luaExpr
	if p.accept("(") {
		x = p.expr()
		p.expect(")")
	} else {
		x = p.name()
	}
	for {
		switch {
		case p.accept("."):
			field := p.name()
			x = &luaExpr{kind: "index", args: []*luaExpr{x, {kind: "str", text: field.text}}}
		case p.accept("["):
			i := p.expr()
			p.expect("]")
			x = &luaExpr{kind: "index", args: []*luaExpr{x, i}}
		case p.accept(":"):
			p.name()
			p.call(luaUnknown)
			x = luaUnknown
		case p.peek("("), p.peek("{"), p.tokens[0].kind == luaString:
			x = p.call(x)
		default:
			return x
		}
	}
}

// call reads the arguments of a call: in parentheses, or one string or table.
func (p *luaParser) call(fn *luaExpr) *luaExpr {
	x := &luaExpr{kind: "call", args: []*luaExpr{fn}}
	switch {
	case p.accept("("):
		if !p.peek(")") {
			x.args = append(x.args, p.exprs()...)
		}
		p.expect(")")
	case p.peek("{"):
		p.table()
		x.args = append(x.args, luaUnknown)
	default:
		x.args = append(x.args, p.operand())
	}
	return x
}

// table reads a table constructor and forgets it.
func (p *luaParser) table() {
	p.expect("{")
	for !p.accept("}") {
		if p.accept("[") {
			p.expr()
			p.expect("]")
			p.expect("=")
		} else if p.tokens[0].kind == luaName && p.tokens[1].kind == luaOp && p.tokens[1].text == "=" {
			p.name()
			p.expect("=")
		}
		p.expr()
		if !p.accept(",") && !p.accept(";") {
			p.expect("}")
			return
		}
	}
}

// redisCall returns the command and its arguments if an expression is a call of redis.call or redis.pcall with a
// constant command.
func (x *luaExpr) redisCall() (name string, args []*luaExpr, ok bool) {
	if x.kind != "call" || len(x.args) < 2 || x.args[1].kind != "str" {
		return "", nil, false
	}
	fn := x.args[0]
	if fn.kind != "index" || fn.args[0].kind != "name" || fn.args[1].kind != "str" {
		return "", nil, false
	}
	if lib := fn.args[0].text; lib != "redis" && lib != "server" {
		return "", nil, false
	}
	if f := fn.args[1].text; f != "call" && f != "pcall" {
		return "", nil, false
	}
	return upper(x.args[1].text), x.args[2:], true
}
