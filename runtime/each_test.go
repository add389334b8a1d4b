package lockrt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	lockrt "github.com/lockgen/lockgen/runtime"
)

func TestLocker_AcquireEach(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		o := lockrt.Options{TTL: ttl, Wait: lockrt.Forever}
		keys := []lockrt.KeyOptions{
			{Key: "c", Permits: 2}, {Key: "b", Mode: lockrt.Read}, {Key: "a"}, {Key: "b"}, {Key: "d", Mode: lockrt.Read},
			{Key: "c", Permits: 2},
		}
		asked := slices.Clone(keys)
		leases, err := locks.AcquireEach(t.Context(), keys, o)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(keys, asked) {
			t.Errorf("the caller's keys have become %v", keys)
		}
		var got []string
		for _, lease := range leases {
			info, err := locks.Holder(t.Context(), lease.Key())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(lease.Key(), " ", info.Mode, " ", info.Limit))
		}
		if want := []string{"a write 0", "b write 0", "c write 2", "d read 0"}; !slices.Equal(got, want) {
			t.Errorf("the locks are %q, want %q", got, want)
		}
		if err := leases.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			keys []lockrt.KeyOptions
			o    lockrt.Options
			want error
		}{
			"no key":            {nil, o, lockrt.ErrKey},
			"mode for all":      {keys, read, lockrt.ErrOptions},
			"permits for all":   {keys, permits(2), lockrt.ErrOptions},
			"read and permits":  {[]lockrt.KeyOptions{{Key: "a", Mode: lockrt.Read}, {Key: "a", Permits: 2}}, o, lockrt.ErrOptions},
			"write and permits": {[]lockrt.KeyOptions{{Key: "a"}, {Key: "a", Permits: 2}}, o, lockrt.ErrOptions},
			"two limits":        {[]lockrt.KeyOptions{{Key: "a", Permits: 3}, {Key: "a", Permits: 2}}, o, lockrt.ErrOptions},
			"permits of a read": {[]lockrt.KeyOptions{{Key: "a", Mode: lockrt.Read, Permits: 2}}, o, lockrt.ErrOptions},
		} {
			if _, err := locks.AcquireEach(t.Context(), test.keys, test.o); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
	})
}

// Many keys are tried at the same time, whatever their kinds; one that is busy is waited for.
func TestLocker_DoEach_manyKeys(t *testing.T) {
	sharing(t, func(t *testing.T, store *sharingStore, locks *lockrt.Locker) {
		var keys []lockrt.KeyOptions
		for i := range 30 {
			key := lockrt.KeyOptions{Key: fmt.Sprintf("k%02d", i)}
			switch i % 3 {
			case 1:
				key.Mode = lockrt.Read
			case 2:
				key.Permits = 2
			}
			keys = append(keys, key)
		}
		other := newLocker(t, store, lockrt.Config{})
		busy := mustAcquire(t, other, t.Context(), "k16", write)
		beside := mustAcquire(t, locks, t.Context(), "k04", read)
		time.AfterFunc(time.Second, func() { _ = busy.Release(context.Background()) })
		o := lockrt.Options{TTL: ttl, Wait: lockrt.Forever}
		began := time.Now()
		err := locks.DoEach(t.Context(), keys, o, func(ctx context.Context, leases lockrt.Leases) error {
			if took := time.Since(began); took != time.Second || len(leases) != 30 {
				t.Errorf("%d leases after %s", len(leases), took)
			}
			for i, lease := range leases {
				if (lease.Slot() == 0) != (i%3 == 2) {
					t.Errorf("lease %d has slot %d", i, lease.Slot())
				}
			}
			if leases.Lease("k04").Fence() != beside.Fence() {
				t.Error("the reader has not joined the one that reads already")
			}
			return ctx.Err()
		})
		if err != nil {
			t.Fatal(err)
		}
		mustRelease(t, beside)
		if infos, err := locks.List(t.Context(), ""); err != nil || len(infos) != 0 {
			t.Errorf("left behind are %+v, %v", infos, err)
		}
	})
}
