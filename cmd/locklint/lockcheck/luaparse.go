package lockcheck

// A luaExpr is an expression. What the flow analysis has no use for has kind "?".
type luaExpr struct {
	kind string // "str", "num", "name", "const" (nil, true, false), "call", "index", "bin", "not", "?"
	text string // the string, number, name, constant or operator
	args []*luaExpr
}

// A luaStmt is a statement.
type luaStmt struct {
	kind  string     // "local", "assign", "expr", "if", "loop", "block", "return", "break"
	names []*luaExpr // of local and assign: what is assigned
	exprs []*luaExpr // values; of if: one condition for each block that has one
	body  [][]*luaStmt
}

var luaUnknown = &luaExpr{kind: "?"}

// maxLuaDepth bounds the nesting that the parser follows, so that no text can exhaust the stack.
const maxLuaDepth = 100

type luaParser struct {
	tokens []luaToken
	depth  int
}

// parseLua reads a whole script.
func parseLua(text string) (block []*luaStmt, err error) {
	tokens, err := luaTokens(text)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			if r != errLua { // the parser's own way out
				panic(r)
			}
			block, err = nil, errLua
		}
	}()
	p := &luaParser{tokens: tokens}
	block = p.block()
	if p.tokens[0].kind != luaEOF {
		return nil, errLua
	}
	return block, nil
}

func (p *luaParser) peek(op string) bool {
	return p.tokens[0].kind == luaOp && p.tokens[0].text == op
}

func (p *luaParser) accept(op string) bool {
	if !p.peek(op) {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

func (p *luaParser) expect(op string) {
	if !p.accept(op) {
		panic(errLua)
	}
}

func (p *luaParser) name() *luaExpr {
	t := p.tokens[0]
	if t.kind != luaName {
		panic(errLua)
	}
	p.tokens = p.tokens[1:]
	return &luaExpr{kind: "name", text: t.text}
}

func (p *luaParser) enter() func() {
	if p.depth++; p.depth > maxLuaDepth {
		panic(errLua)
	}
	return func() { p.depth-- }
}

func (p *luaParser) block() []*luaStmt {
	defer p.enter()()
	var list []*luaStmt
	for {
		for p.accept(";") {
		}
		if p.tokens[0].kind == luaEOF || p.peek("end") || p.peek("else") || p.peek("elseif") || p.peek("until") {
			return list
		}
		list = append(list, p.statement())
	}
}

func (p *luaParser) statement() *luaStmt {
	switch {
	case p.accept("if"):
		return p.ifStatement()
	case p.accept("do"):
		return p.ended(&luaStmt{kind: "block"})
	case p.accept("while"):
		cond := p.expr()
		p.expect("do")
		return p.ended(&luaStmt{kind: "loop", exprs: []*luaExpr{cond}})
	case p.accept("repeat"):
		body := p.block()
		p.expect("until")
		return &luaStmt{kind: "loop", exprs: []*luaExpr{p.expr()}, body: [][]*luaStmt{body}}
	case p.accept("for"):
		names := p.names()
		if !p.accept("=") {
			p.expect("in")
		}
		s := &luaStmt{kind: "loop", names: names, exprs: p.exprs()}
		p.expect("do")
		return p.ended(s)
	case p.accept("return"):
		s := &luaStmt{kind: "return"}
		if !(p.tokens[0].kind == luaEOF || p.peek("end") || p.peek("else") || p.peek("elseif") || p.peek("until") ||
			p.peek(";")) {
			s.exprs = p.exprs()
		}
		return s
	case p.accept("break"):
		return &luaStmt{kind: "break"}
	case p.accept("local"):
		if p.peek("function") {
			panic(errLua) // functions would need calls to be followed
		}
		s := &luaStmt{kind: "local", names: p.names()}
		if p.accept("=") {
			s.exprs = p.exprs()
		}
		return s
	}
	return p.simple()
}

func (p *luaParser) ended(s *luaStmt) *luaStmt {
	s.body = append(s.body, p.block())
	p.expect("end")
	return s
}

// ifStatement reads what follows if: a body for each condition, and one more for else.
func (p *luaParser) ifStatement() *luaStmt {
	s := &luaStmt{kind: "if"}
	for {
		s.exprs = append(s.exprs, p.expr())
		p.expect("then")
		s.body = append(s.body, p.block())
		switch {
		case p.accept("elseif"):
		case p.accept("else"):
			return p.ended(s)
		default:
			p.expect("end")
			return s
		}
	}
}

// simple reads an assignment or a call.
func (p *luaParser) simple() *luaStmt {
	first := p.suffixed()
	if p.peek("=") || p.peek(",") {
		s := &luaStmt{kind: "assign", names: []*luaExpr{first}}
		for p.accept(",") {
			s.names = append(s.names, p.suffixed())
		}
		p.expect("=")
		s.exprs = p.exprs()
		return s
	}
	if first.kind != "call" {
		panic(errLua)
	}
	return &luaStmt{kind: "expr", exprs: []*luaExpr{first}}
}

func (p *luaParser) names() []*luaExpr {
	list := []*luaExpr{p.name()}
	for p.accept(",") {
		list = append(list, p.name())
	}
	return list
}

func (p *luaParser) exprs() []*luaExpr {
	list := []*luaExpr{p.expr()}
	for p.accept(",") {
		list = append(list, p.expr())
	}
	return list
}
