package time

import lockrt "github.com/lockgen/lockgen/runtime"

type Zone struct{ Name string }

type Lock = lockrt.Lease

type base struct{ Region string }

// Place has a field of an embedded type that only this package can name.
type Place struct{ base }

const Key, TTL = "imports-constant", Minute

const Minute = 60 * 1000000000 * nano

const nano = one

const one = 1
