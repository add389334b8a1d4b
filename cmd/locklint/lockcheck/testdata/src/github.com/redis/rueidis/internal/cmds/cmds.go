// Package cmds has just as much of rueidis's command builder as the tests call. It is loaded, never run.
package cmds

import "time"

type Completed struct{}

type Builder struct{}

func (Builder) Setnx() Setnx                        { return Setnx{} }
func (Builder) Set() Set                            { return Set{} }
func (Builder) Del() Del                            { return Del{} }
func (Builder) Get() Get                            { return Get{} }
func (Builder) Getset() Getset                      { return Getset{} }
func (Builder) Incr() Incr                          { return Incr{} }
func (Builder) Expire() Expire                      { return Expire{} }
func (Builder) Pexpire() Pexpire                    { return Pexpire{} }
func (Builder) Watch() Watch                        { return Watch{} }
func (Builder) Multi() Multi                        { return Multi{} }
func (Builder) Exec() Multi                         { return Multi{} }
func (Builder) Eval() Eval                          { return Eval{} }
func (Builder) Arbitrary(token ...string) Arbitrary { return Arbitrary{} }

type (
	Setnx      struct{}
	SetnxKey   struct{}
	SetnxValue struct{}
)

func (Setnx) Key(key string) SetnxKey          { return SetnxKey{} }
func (SetnxKey) Value(value string) SetnxValue { return SetnxValue{} }
func (SetnxValue) Build() Completed            { return Completed{} }

type (
	Set                         struct{}
	SetKey                      struct{}
	SetValue                    struct{}
	SetConditionNx              struct{}
	SetExpirationExSeconds      struct{}
	SetExpirationPxMilliseconds struct{}
	SetExpirationPxMsTyped      struct{}
)

func (Set) Key(key string) SetKey          { return SetKey{} }
func (SetKey) Value(value string) SetValue { return SetValue{} }
func (SetValue) Nx() SetConditionNx        { return SetConditionNx{} }
func (SetValue) Build() Completed          { return Completed{} }
func (SetConditionNx) ExSeconds(seconds int64) SetExpirationExSeconds {
	return SetExpirationExSeconds{}
}
func (SetConditionNx) Px(duration time.Duration) SetExpirationPxMsTyped {
	return SetExpirationPxMsTyped{}
}
func (SetConditionNx) Build() Completed         { return Completed{} }
func (SetExpirationExSeconds) Build() Completed { return Completed{} }
func (SetExpirationPxMsTyped) Build() Completed { return Completed{} }
func (SetConditionNx) PxMilliseconds(ms int64) SetExpirationPxMilliseconds {
	return SetExpirationPxMilliseconds{}
}
func (SetExpirationPxMilliseconds) Build() Completed { return Completed{} }

type (
	Del    struct{}
	DelKey struct{}
)

func (Del) Key(key ...string) DelKey { return DelKey{} }
func (DelKey) Build() Completed      { return Completed{} }

type (
	Get    struct{}
	GetKey struct{}
)

func (Get) Key(key string) GetKey { return GetKey{} }
func (GetKey) Build() Completed   { return Completed{} }

type (
	Getset      struct{}
	GetsetKey   struct{}
	GetsetValue struct{}
)

func (Getset) Key(key string) GetsetKey          { return GetsetKey{} }
func (GetsetKey) Value(value string) GetsetValue { return GetsetValue{} }
func (GetsetValue) Build() Completed             { return Completed{} }

type (
	Incr    struct{}
	IncrKey struct{}
)

func (Incr) Key(key string) IncrKey { return IncrKey{} }
func (IncrKey) Build() Completed    { return Completed{} }

type (
	Expire        struct{}
	ExpireKey     struct{}
	ExpireSeconds struct{}
)

func (Expire) Key(key string) ExpireKey               { return ExpireKey{} }
func (ExpireKey) Seconds(seconds int64) ExpireSeconds { return ExpireSeconds{} }
func (ExpireSeconds) Build() Completed                { return Completed{} }

type (
	Pexpire             struct{}
	PexpireKey          struct{}
	PexpireMilliseconds struct{}
)

func (Pexpire) Key(key string) PexpireKey                              { return PexpireKey{} }
func (PexpireKey) Milliseconds(milliseconds int64) PexpireMilliseconds { return PexpireMilliseconds{} }
func (PexpireMilliseconds) Build() Completed                           { return Completed{} }

type (
	Watch    struct{}
	WatchKey struct{}
	Multi    struct{}
)

func (Watch) Key(key ...string) WatchKey { return WatchKey{} }
func (WatchKey) Build() Completed        { return Completed{} }
func (Multi) Build() Completed           { return Completed{} }

type (
	Eval        struct{}
	EvalScript  struct{}
	EvalNumkeys struct{}
	EvalKey     struct{}
	EvalArg     struct{}
)

func (Eval) Script(script string) EvalScript         { return EvalScript{} }
func (EvalScript) Numkeys(numkeys int64) EvalNumkeys { return EvalNumkeys{} }
func (EvalNumkeys) Key(key ...string) EvalKey        { return EvalKey{} }
func (EvalKey) Arg(arg ...string) EvalArg            { return EvalArg{} }
func (EvalKey) Build() Completed                     { return Completed{} }
func (EvalArg) Build() Completed                     { return Completed{} }

type Arbitrary struct{}

func (Arbitrary) Keys(keys ...string) Arbitrary { return Arbitrary{} }
func (Arbitrary) Args(args ...string) Arbitrary { return Arbitrary{} }
func (Arbitrary) Build() Completed              { return Completed{} }
