package lockcheck

import (
	"errors"
	"strings"
)

// This file cuts Lua text into tokens; luaparse.go makes a tree of them and luaflow.go reads it. They know as much of
// Lua as scripts for Redis use, which is nearly all of 5.1. What they cannot read is an unknown script, about which
// every check is silent.

type luaKind uint8

const (
	luaEOF luaKind = iota
	luaName
	luaString
	luaNumber
	luaOp // operators, punctuation and keywords
)

type luaToken struct {
	kind luaKind
	text string // of a string: its value
}

var errLua = errors.New("not readable as Lua")

var luaKeywords = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true, "for": true,
	"function": true, "if": true, "in": true, "local": true, "nil": true, "not": true, "or": true, "repeat": true,
	"return": true, "then": true, "true": true, "until": true, "while": true,
}

// luaOps are the operators, longest first.
var luaOps = []string{"...", "..", "==", "~=", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "%", "^", "#", "(", ")",
	"{", "}", "[", "]", ";", ":", ",", "."}

// luaTokens cuts a text into tokens.
func luaTokens(text string) ([]luaToken, error) {
	var list []luaToken
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		switch {
		case text == "":
			return append(list, luaToken{}), nil
		case strings.HasPrefix(text, "--"):
			text = skipLuaComment(text[2:])
			continue
		}
		tok, rest, err := luaNext(text)
		if err != nil {
			return nil, err
		}
		list, text = append(list, tok), rest
	}
}

func skipLuaComment(text string) string {
	if _, rest, ok := luaLongString(text); ok {
		return rest
	}
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}

func luaNext(text string) (luaToken, string, error) {
	c := text[0]
	switch {
	case c == '"' || c == '\'':
		return luaQuoted(text)
	case c == '[':
		if value, rest, ok := luaLongString(text); ok {
			return luaToken{luaString, value}, rest, nil
		}
	case isLuaDigit(c):
		n := 1
		for n < len(text) && (isLuaLetter(text[n]) || isLuaDigit(text[n]) || text[n] == '.') {
			n++
		}
		return luaToken{luaNumber, text[:n]}, text[n:], nil
	case isLuaLetter(c):
		n := 1
		for n < len(text) && (isLuaLetter(text[n]) || isLuaDigit(text[n])) {
			n++
		}
		if luaKeywords[text[:n]] {
			return luaToken{luaOp, text[:n]}, text[n:], nil
		}
		return luaToken{luaName, text[:n]}, text[n:], nil
	}
	for _, op := range luaOps {
		if rest, ok := strings.CutPrefix(text, op); ok {
			return luaToken{luaOp, op}, rest, nil
		}
	}
	return luaToken{}, "", errLua
}

// isLuaLetter takes the marks of embedded Go values for letters, so that one outside quotes passes for a name.
func isLuaLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == markStart || c == markEnd
}

func isLuaDigit(c byte) bool { return '0' <= c && c <= '9' }

// luaQuoted reads a string in quotes. Of the escapes only those matter that stand for the quotes themselves; the
// others are kept as they are because no key and no command has any.
func luaQuoted(text string) (luaToken, string, error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return luaToken{luaString, b.String()}, text[i+1:], nil
		case '\n':
			return luaToken{}, "", errLua
		case '\\':
			if i++; i == len(text) {
				return luaToken{}, "", errLua
			}
			if strings.IndexByte(`"'\`, text[i]) < 0 {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return luaToken{}, "", errLua
}

// luaLongString reads [[…]] or [=[…]=].
func luaLongString(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, "[") {
		return "", text, false
	}
	level := 0
	for level+1 < len(text) && text[level+1] == '=' {
		level++
	}
	if level+1 >= len(text) || text[level+1] != '[' {
		return "", text, false
	}
	return strings.Cut(text[level+2:], "]"+strings.Repeat("=", level)+"]")
}
