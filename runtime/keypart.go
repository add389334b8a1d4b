package lockrt

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// KeyPart is one literal or placeholder of a key template, for [BuildKey]. The constructors are typed: if a field or
// parameter changes its kind, code that was generated for it does not compile any more. Then run lockgen again.
type KeyPart struct {
	kind     partKind
	optional bool
	pointed  bool   // came through a pointer: nil and a pointer to "" must stay distinct
	mixed    bool   // a string where a number could stand: "1" and 1 must stay distinct
	name     string // the placeholder's path as written, for errors
	filter   string // as written, for errors
	text     string // partText, partString
	number   uint64 // partInt (as its bits), partUint
	err      error  // of MarshalText
}

type partKind uint8

const (
	partNil partKind = iota
	partText
	partString
	partInt
	partUint
)

// KeyText is literal text of the template; it stands in the key unencoded.
func KeyText(text string) KeyPart { return KeyPart{kind: partText, text: text} }

// KeyString is a placeholder for a string. The empty string is an error unless the part is [KeyPart.Optional].
func KeyString[T ~string](name string, value T) KeyPart {
	return KeyPart{kind: partString, name: name, text: string(value)}
}

// KeyInt is a placeholder for a signed integer, in decimal.
func KeyInt[T ~int | ~int8 | ~int16 | ~int32 | ~int64](name string, value T) KeyPart {
	return KeyPart{kind: partInt, name: name, number: uint64(int64(value))}
}

// KeyUint is a placeholder for an unsigned integer, in decimal.
func KeyUint[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](name string, value T) KeyPart {
	return KeyPart{kind: partUint, name: name, number: uint64(value)}
}

// KeyBool is a placeholder for a boolean: true or false.
func KeyBool[T ~bool](name string, value T) KeyPart {
	return KeyPart{kind: partString, name: name, text: strconv.FormatBool(bool(value))}
}

// KeyBasic is a placeholder for a value of a type parameter that may be a string, an integer or a boolean. Integers and
// booleans are written as usual. A string has the prefix %s, which no encoded text can begin with. So the string "1"
// and the number 1 have different keys. The number 1 has the same key in all integer types.
func KeyBasic[T ~string | ~bool | ~int | ~int8 | ~int16 | ~int32 | ~int64 |
	~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](name string, value T) KeyPart {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		return KeyPart{kind: partString, name: name, text: v.String(), mixed: true}
	case reflect.Bool:
		return KeyBool(name, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return KeyInt(name, v.Int())
	default:
		return KeyUint(name, v.Uint())
	}
}

// KeyTime is a placeholder for a time, {t|unix}: whole seconds since 1970, so times within one second share a key.
func KeyTime(name string, value time.Time) KeyPart {
	return KeyPart{kind: partInt, name: name, filter: "unix", number: uint64(value.Unix())}
}

// KeyMarshaler is a placeholder for a value that writes itself as text. An error of MarshalText comes back from
// [BuildKey], joined with [ErrKey].
func KeyMarshaler[T encoding.TextMarshaler](name string, value T) KeyPart {
	part := KeyPart{kind: partString, name: name, pointed: canBeNil[T]()}
	if isNil(value) {
		part.kind = partNil
		return part
	}
	text, err := value.MarshalText()
	part.text, part.err = string(text), err
	return part
}

// KeyStringer is a placeholder for a value's String method, {x|string}.
func KeyStringer[T fmt.Stringer](name string, value T) KeyPart {
	part := KeyPart{kind: partString, name: name, filter: "string", pointed: canBeNil[T]()}
	if isNil(value) {
		part.kind = partNil
		return part
	}
	part.text = value.String()
	return part
}

// canBeNil tells whether nil and an empty text are different values of T.
func canBeNil[T any]() bool {
	kind := reflect.TypeFor[T]().Kind()
	return kind == reflect.Pointer || kind == reflect.Interface
}

// isNil tells whether a method call would go through a nil pointer or a nil interface. Nil slices and maps with methods
// are left to the method: they are values like any other.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// KeyPtr is the placeholder that part makes for the value of pointer. A nil pointer is an error unless the part is
// [KeyPart.Optional].
//
//	lockrt.KeyPtr("userID", userID, lockrt.KeyInt)
func KeyPtr[T any](name string, pointer *T, part func(name string, value T) KeyPart) KeyPart {
	if pointer == nil {
		return KeyNil(name)
	}
	p := part(name, *pointer)
	p.pointed = true
	return p
}

// KeyNil is a placeholder whose value cannot be read because a pointer on its path is nil. It is an error unless it is
// [KeyPart.Optional].
func KeyNil(name string) KeyPart { return KeyPart{kind: partNil, name: name, pointed: true} }

// Optional lets the value be nil or empty, {x?}. The key then holds nothing in its place (and a mark for a pointer to
// an empty value, because that is not nil).
func (p KeyPart) Optional() KeyPart {
	p.optional = true
	return p
}

// Text notes that the template asks for MarshalText by {x|text}. It changes only the errors.
func (p KeyPart) Text() KeyPart {
	p.filter = "text"
	return p
}

// Lower folds the value to lower case, {x|lower}.
func (p KeyPart) Lower() KeyPart {
	p.filter = "lower"
	if p.kind == partString {
		p.text = lower(p.text)
	}
	return p
}

// Hash replaces the value by its SHA-256 in hexadecimal, {x|hash}: for values too long or too private for a key.
func (p KeyPart) Hash() KeyPart {
	p.filter = "hash"
	switch {
	case p.kind == partString && p.text != "" && p.mixed:
		p.text, p.mixed = hash(stringPrefix+p.text), false // no number's text starts like that
	case p.kind == partString && p.text != "":
		p.text = hash(p.text)
	case p.kind == partInt, p.kind == partUint:
		p.kind, p.text = partString, hash(string(p.append(nil)))
	}
	return p
}

// stringPrefix is no beginning of an encoded text, where two upper-case digits follow a percent sign.
const stringPrefix = "%s"

func (p *KeyPart) append(buf []byte) []byte {
	switch p.kind {
	case partText:
		return append(buf, p.text...)
	case partInt:
		return strconv.AppendInt(buf, int64(p.number), 10)
	case partUint:
		return strconv.AppendUint(buf, p.number, 10)
	case partString:
		if p.text == "" && p.pointed {
			return append(buf, '%') // no encoded value is a lone percent sign
		}
		if p.text != "" && p.mixed {
			buf = append(buf, stringPrefix...)
		}
		return appendEscaped(buf, p.text)
	}
	return buf
}
