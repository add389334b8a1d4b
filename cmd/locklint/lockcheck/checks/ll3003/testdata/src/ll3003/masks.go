package ll3003

import (
	"context"

	"github.com/go-redsync/redsync/v4"
)

// Masks with more bits, and functions with more locks, than can be told apart all at once.

func maskOneAsked(ctx context.Context, rs *redsync.Redsync, x []bool) error {
	m, st := rs.NewMutex("k"), 0
	if m.LockContext(ctx) == nil {
		st |= 1
	}
	if x[1] {
		st |= 2
	}
	if x[2] {
		st |= 4
	}
	if x[3] {
		st |= 8
	}
	if x[4] {
		st |= 16
	}
	if x[5] {
		st |= 32
	}
	if x[6] {
		st |= 64
	}
	if x[7] {
		st |= 128
	}
	if x[8] {
		st |= 256
	}
	if x[9] {
		st |= 512
	}
	if x[10] {
		st |= 1024
	}
	if st&1 != 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

func maskOneAskedInverted(ctx context.Context, rs *redsync.Redsync, x []bool) error {
	m, st := rs.NewMutex("k"), 0
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st&1 != 0\)`
		st |= 1
	}
	if x[1] {
		st |= 2
	}
	if x[2] {
		st |= 4
	}
	if x[3] {
		st |= 8
	}
	if x[4] {
		st |= 16
	}
	if x[5] {
		st |= 32
	}
	if x[6] {
		st |= 64
	}
	if x[7] {
		st |= 128
	}
	if x[8] {
		st |= 256
	}
	if x[9] {
		st |= 512
	}
	if x[10] {
		st |= 1024
	}
	if st&1 == 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

func maskOneAskedCleared(ctx context.Context, rs *redsync.Redsync, x []bool) error {
	m, st := rs.NewMutex("k"), 0
	if m.LockContext(ctx) == nil { // want `LL3003: .* is never released`
		st &^= 1
	}
	if x[1] {
		st |= 2
	}
	if x[2] {
		st |= 4
	}
	if x[3] {
		st |= 8
	}
	if x[4] {
		st |= 16
	}
	if x[5] {
		st |= 32
	}
	if x[6] {
		st |= 64
	}
	if x[7] {
		st |= 128
	}
	if x[8] {
		st |= 256
	}
	if x[9] {
		st |= 512
	}
	if x[10] {
		st |= 1024
	}
	if st&1 != 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

func maskAllAsked(ctx context.Context, rs *redsync.Redsync, x []bool) error {
	m, st := rs.NewMutex("k"), 0
	if m.LockContext(ctx) == nil {
		st |= 1
	}
	if x[1] {
		st |= 2
	}
	if x[2] {
		st |= 4
	}
	if x[3] {
		st |= 8
	}
	if x[4] {
		st |= 16
	}
	if x[5] {
		st |= 32
	}
	if x[6] {
		st |= 64
	}
	if x[7] {
		st |= 128
	}
	if x[8] {
		st |= 256
	}
	if x[9] {
		st |= 512
	}
	if x[10] {
		st |= 1024
	}
	if st&2 != 0 {
		println(1)
	}
	if st&4 != 0 {
		println(2)
	}
	if st&8 != 0 {
		println(3)
	}
	if st&16 != 0 {
		println(4)
	}
	if st&32 != 0 {
		println(5)
	}
	if st&64 != 0 {
		println(6)
	}
	if st&128 != 0 {
		println(7)
	}
	if st&256 != 0 {
		println(8)
	}
	if st&512 != 0 {
		println(9)
	}
	if st&1024 != 0 {
		println(10)
	}
	if st&1 != 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

func maskAllAskedInverted(ctx context.Context, rs *redsync.Redsync, x []bool) error {
	m, st := rs.NewMutex("k"), 0
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st&1 != 0\)`
		st |= 1
	}
	if x[1] {
		st |= 2
	}
	if x[2] {
		st |= 4
	}
	if x[3] {
		st |= 8
	}
	if x[4] {
		st |= 16
	}
	if x[5] {
		st |= 32
	}
	if x[6] {
		st |= 64
	}
	if x[7] {
		st |= 128
	}
	if x[8] {
		st |= 256
	}
	if x[9] {
		st |= 512
	}
	if x[10] {
		st |= 1024
	}
	if st&2 != 0 {
		println(1)
	}
	if st&4 != 0 {
		println(2)
	}
	if st&8 != 0 {
		println(3)
	}
	if st&16 != 0 {
		println(4)
	}
	if st&32 != 0 {
		println(5)
	}
	if st&64 != 0 {
		println(6)
	}
	if st&128 != 0 {
		println(7)
	}
	if st&256 != 0 {
		println(8)
	}
	if st&512 != 0 {
		println(9)
	}
	if st&1024 != 0 {
		println(10)
	}
	if st&1 == 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

func maskAllAskedOther(ctx context.Context, rs *redsync.Redsync, x []bool) error {
	m, st := rs.NewMutex("k"), 0
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st&2 == 0\)`
		st |= 1
	}
	if x[1] {
		st |= 2
	}
	if x[2] {
		st |= 4
	}
	if x[3] {
		st |= 8
	}
	if x[4] {
		st |= 16
	}
	if x[5] {
		st |= 32
	}
	if x[6] {
		st |= 64
	}
	if x[7] {
		st |= 128
	}
	if x[8] {
		st |= 256
	}
	if x[9] {
		st |= 512
	}
	if x[10] {
		st |= 1024
	}
	if st&4 != 0 {
		println(2)
	}
	if st&8 != 0 {
		println(3)
	}
	if st&16 != 0 {
		println(4)
	}
	if st&32 != 0 {
		println(5)
	}
	if st&64 != 0 {
		println(6)
	}
	if st&128 != 0 {
		println(7)
	}
	if st&256 != 0 {
		println(8)
	}
	if st&512 != 0 {
		println(9)
	}
	if st&1024 != 0 {
		println(10)
	}
	if st&2 != 0 {
		m.UnlockContext(ctx)
	}
	return nil
}

func maskAskedAsNumber(ctx context.Context, rs *redsync.Redsync, x []bool) error {
	m, st := rs.NewMutex("k"), 0
	if m.LockContext(ctx) == nil { // want `LL3003: .*\(when st != 1\)`
		st |= 1
	}
	if x[1] {
		st |= 2
	}
	if x[2] {
		st |= 4
	}
	if x[3] {
		st |= 8
	}
	if x[4] {
		st |= 16
	}
	if x[5] {
		st |= 32
	}
	if x[6] {
		st |= 64
	}
	if x[7] {
		st |= 128
	}
	if x[8] {
		st |= 256
	}
	if x[9] {
		st |= 512
	}
	if x[10] {
		st |= 1024
	}
	if st == 1 {
		m.UnlockContext(ctx)
	}
	return nil
}

func manyFlags(ctx context.Context, rs *redsync.Redsync) {
	m0, h0 := rs.NewMutex("k0"), false
	if m0.LockContext(ctx) == nil {
		h0 = true
	}
	m1, h1 := rs.NewMutex("k1"), false
	if m1.LockContext(ctx) == nil {
		h1 = true
	}
	m2, h2 := rs.NewMutex("k2"), false
	if m2.LockContext(ctx) == nil {
		h2 = true
	}
	m3, h3 := rs.NewMutex("k3"), false
	if m3.LockContext(ctx) == nil {
		h3 = true
	}
	m4, h4 := rs.NewMutex("k4"), false
	if m4.LockContext(ctx) == nil {
		h4 = true
	}
	m5, h5 := rs.NewMutex("k5"), false
	if m5.LockContext(ctx) == nil {
		h5 = true
	}
	m6, h6 := rs.NewMutex("k6"), false
	if m6.LockContext(ctx) == nil {
		h6 = true
	}
	m7, h7 := rs.NewMutex("k7"), false
	if m7.LockContext(ctx) == nil {
		h7 = true
	}
	m8, h8 := rs.NewMutex("k8"), false
	if m8.LockContext(ctx) == nil {
		h8 = true
	}
	m9, h9 := rs.NewMutex("k9"), false
	if m9.LockContext(ctx) == nil {
		h9 = true
	}
	m10, h10 := rs.NewMutex("k10"), false
	if m10.LockContext(ctx) == nil {
		h10 = true
	}
	m11, h11 := rs.NewMutex("k11"), false
	if m11.LockContext(ctx) == nil {
		h11 = true
	}
	m12, h12 := rs.NewMutex("k12"), false
	if m12.LockContext(ctx) == nil {
		h12 = true
	}
	m13, h13 := rs.NewMutex("k13"), false
	if m13.LockContext(ctx) == nil {
		h13 = true
	}
	if h0 {
		m0.UnlockContext(ctx)
	}
	if h1 {
		m1.UnlockContext(ctx)
	}
	if h2 {
		m2.UnlockContext(ctx)
	}
	if h3 {
		m3.UnlockContext(ctx)
	}
	if h4 {
		m4.UnlockContext(ctx)
	}
	if h5 {
		m5.UnlockContext(ctx)
	}
	if h6 {
		m6.UnlockContext(ctx)
	}
	if h7 {
		m7.UnlockContext(ctx)
	}
	if h8 {
		m8.UnlockContext(ctx)
	}
	if h9 {
		m9.UnlockContext(ctx)
	}
	if h10 {
		m10.UnlockContext(ctx)
	}
	if h11 {
		m11.UnlockContext(ctx)
	}
	if h12 {
		m12.UnlockContext(ctx)
	}
	if h13 {
		m13.UnlockContext(ctx)
	}
}

func manyFlagsInverted(ctx context.Context, rs *redsync.Redsync) {
	m0, h0 := rs.NewMutex("k0"), false
	if m0.LockContext(ctx) == nil {
		h0 = true
	}
	m1, h1 := rs.NewMutex("k1"), false
	if m1.LockContext(ctx) == nil {
		h1 = true
	}
	m2, h2 := rs.NewMutex("k2"), false
	if m2.LockContext(ctx) == nil {
		h2 = true
	}
	m3, h3 := rs.NewMutex("k3"), false
	if m3.LockContext(ctx) == nil { // want `LL3003: .* is never released`
		h3 = true
	}
	m4, h4 := rs.NewMutex("k4"), false
	if m4.LockContext(ctx) == nil {
		h4 = true
	}
	m5, h5 := rs.NewMutex("k5"), false
	if m5.LockContext(ctx) == nil {
		h5 = true
	}
	m6, h6 := rs.NewMutex("k6"), false
	if m6.LockContext(ctx) == nil {
		h6 = true
	}
	m7, h7 := rs.NewMutex("k7"), false
	if m7.LockContext(ctx) == nil {
		h7 = true
	}
	m8, h8 := rs.NewMutex("k8"), false
	if m8.LockContext(ctx) == nil {
		h8 = true
	}
	m9, h9 := rs.NewMutex("k9"), false
	if m9.LockContext(ctx) == nil {
		h9 = true
	}
	m10, h10 := rs.NewMutex("k10"), false
	if m10.LockContext(ctx) == nil {
		h10 = true
	}
	m11, h11 := rs.NewMutex("k11"), false
	if m11.LockContext(ctx) == nil {
		h11 = true
	}
	m12, h12 := rs.NewMutex("k12"), false
	if m12.LockContext(ctx) == nil {
		h12 = true
	}
	m13, h13 := rs.NewMutex("k13"), false
	if m13.LockContext(ctx) == nil {
		h13 = true
	}
	if h0 {
		m0.UnlockContext(ctx)
	}
	if h1 {
		m1.UnlockContext(ctx)
	}
	if h2 {
		m2.UnlockContext(ctx)
	}
	if !h3 {
		m3.UnlockContext(ctx)
	}
	if h4 {
		m4.UnlockContext(ctx)
	}
	if h5 {
		m5.UnlockContext(ctx)
	}
	if h6 {
		m6.UnlockContext(ctx)
	}
	if h7 {
		m7.UnlockContext(ctx)
	}
	if h8 {
		m8.UnlockContext(ctx)
	}
	if h9 {
		m9.UnlockContext(ctx)
	}
	if h10 {
		m10.UnlockContext(ctx)
	}
	if h11 {
		m11.UnlockContext(ctx)
	}
	if h12 {
		m12.UnlockContext(ctx)
	}
	if h13 {
		m13.UnlockContext(ctx)
	}
}

func manyFlagsMixed(ctx context.Context, rs *redsync.Redsync) {
	m0, h0 := rs.NewMutex("k0"), false
	if m0.LockContext(ctx) == nil {
		h0 = true
	}
	m1, h1 := rs.NewMutex("k1"), false
	if m1.LockContext(ctx) == nil {
		h1 = true
	}
	m2, h2 := rs.NewMutex("k2"), false
	if m2.LockContext(ctx) == nil {
		h2 = true
	}
	m3, h3 := rs.NewMutex("k3"), false
	if m3.LockContext(ctx) == nil { // want `LL3003: .*\(when !h4\)`
		h3 = true
	}
	m4, h4 := rs.NewMutex("k4"), false
	if m4.LockContext(ctx) == nil {
		h4 = true
	}
	m5, h5 := rs.NewMutex("k5"), false
	if m5.LockContext(ctx) == nil {
		h5 = true
	}
	m6, h6 := rs.NewMutex("k6"), false
	if m6.LockContext(ctx) == nil {
		h6 = true
	}
	m7, h7 := rs.NewMutex("k7"), false
	if m7.LockContext(ctx) == nil {
		h7 = true
	}
	m8, h8 := rs.NewMutex("k8"), false
	if m8.LockContext(ctx) == nil {
		h8 = true
	}
	m9, h9 := rs.NewMutex("k9"), false
	if m9.LockContext(ctx) == nil {
		h9 = true
	}
	m10, h10 := rs.NewMutex("k10"), false
	if m10.LockContext(ctx) == nil {
		h10 = true
	}
	m11, h11 := rs.NewMutex("k11"), false
	if m11.LockContext(ctx) == nil {
		h11 = true
	}
	m12, h12 := rs.NewMutex("k12"), false
	if m12.LockContext(ctx) == nil {
		h12 = true
	}
	m13, h13 := rs.NewMutex("k13"), false
	if m13.LockContext(ctx) == nil {
		h13 = true
	}
	if h0 {
		m0.UnlockContext(ctx)
	}
	if h1 {
		m1.UnlockContext(ctx)
	}
	if h2 {
		m2.UnlockContext(ctx)
	}
	if h4 {
		m3.UnlockContext(ctx)
	}
	if h4 {
		m4.UnlockContext(ctx)
	}
	if h5 {
		m5.UnlockContext(ctx)
	}
	if h6 {
		m6.UnlockContext(ctx)
	}
	if h7 {
		m7.UnlockContext(ctx)
	}
	if h8 {
		m8.UnlockContext(ctx)
	}
	if h9 {
		m9.UnlockContext(ctx)
	}
	if h10 {
		m10.UnlockContext(ctx)
	}
	if h11 {
		m11.UnlockContext(ctx)
	}
	if h12 {
		m12.UnlockContext(ctx)
	}
	if h13 {
		m13.UnlockContext(ctx)
	}
	println(h3)
}
