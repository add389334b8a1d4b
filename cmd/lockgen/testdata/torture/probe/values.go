package probe

import (
	"context"
	"reflect"
	"time"
	"unsafe"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// arguments makes one value for each parameter, equal for equal types at equal places among those that callers pass: the body
// and its wrapper get the same.
func (p Pair) arguments(fn reflect.Type, ctx context.Context) []reflect.Value {
	var args []reflect.Value
	n := 0
	for i := range fn.NumIn() {
		t := fn.In(i)
		switch t {
		case reflect.TypeFor[context.Context]():
			args = append(args, reflect.ValueOf(ctx))
			continue
		case reflect.TypeFor[*lockrt.Locker]():
			args = append(args, reflect.ValueOf(Locks))
			continue
		case reflect.TypeFor[lockrt.Fence](), reflect.TypeFor[*lockrt.Lease]():
			args = append(args, reflect.Zero(t))
			continue
		}
		n++
		v := reflect.New(t).Elem()
		fill(v, n, 9)
		args = append(args, v)
	}
	return args
}

// fill puts values other than zero wherever it can, unexported fields included.
func fill(v reflect.Value, n, depth int) {
	if depth == 0 {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[*lockrt.Locker]():
		v.Set(reflect.ValueOf(Locks))
		return
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(int64(n), 0).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("text/" + string(rune('a'+n)))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(uint64(n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth-1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n, depth-1)
		fill(v.Index(1), n+1, depth-1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n+i, depth-1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n, depth-1)
		fill(value, n, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			fill(reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem(), n+i, depth-1)
		}
	}
}
