package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestParse_flagsSetSizes(t *testing.T) {
	sizes := func(args ...string) (leases int, ttl time.Duration, keys, rounds int) {
		s, err := parse(append([]string{"-scenario", "all"}, args...), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		plans, err := s.plans()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plans {
			switch sc := p.scenario.(type) {
			case renew:
				leases, ttl = sc.leases, sc.ttl
			case memory:
				keys = sc.keys
			case seeds:
				rounds = sc.rounds
			}
		}
		return leases, ttl, keys, rounds
	}
	leases, ttl, keys, rounds := sizes("-leases", "7", "-ttl", "2s", "-keys", "9", "-rounds", "5")
	if leases != 7 || ttl != 2*time.Second || keys != 9 || rounds != 5 {
		t.Errorf("leases %d, ttl %s, keys %d, rounds %d, want what the flags say", leases, ttl, keys, rounds)
	}
	leases, ttl, keys, rounds = sizes()
	if leases != renewFull.leases || ttl != renewFull.ttl || keys != memoryFull.keys || rounds != seedsFull.rounds {
		t.Errorf("leases %d, ttl %s, keys %d, rounds %d, want the full sizes", leases, ttl, keys, rounds)
	}
}

func TestProfiled_writesAProfileOfTheWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu")
	s, err := parse([]string{"-scenario", "seeds", "-cpuprofile", path}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the work's own")
	if err := profiled(s.profile, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("the error is %v, want the work's", err)
	}
	profile, err := os.ReadFile(path)
	if gzip := []byte{0x1f, 0x8b}; err != nil || !bytes.HasPrefix(profile, gzip) {
		t.Errorf("the profile (%v) is %d bytes that are no profile", err, len(profile))
	}
}
