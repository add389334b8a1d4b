package model

import (
	"hash/maphash"
	"slices"
)

// renumber gives the epochs the smallest numbers with the same order, so that states that differ in nothing else are
// the same.
func (s *State) renumber() {
	var used, to [256]uint8
	s.epochs(func(e *uint8) { used[*e] = 1 })
	next := uint8(0)
	for e := 1; e < len(used); e++ {
		next += used[e]
		to[e] = next
	}
	s.epochs(func(e *uint8) { *e = used[*e] * to[*e] })
}

// epochs calls f for every epoch in the state; 0 stands for none.
func (s *State) epochs(f func(*uint8)) {
	f(&s.Epoch)
	f(&s.Floor)
	f(&s.Issued)
	f(&s.Break.Epoch)
	for i := range s.Hold {
		f(&s.Hold[i].Epoch)
	}
	for i := range s.Lease {
		l := &s.Lease[i]
		f(&l.Epoch)
		f(&l.Forced)
		f(&l.Call.Answer.Epoch)
		for j := range l.Pushed {
			f(&l.Pushed[j].Epoch)
		}
	}
}

// order maps the leases of the sorted state to the old ones: the new i is the old order[i].
type order [MaxLeases]int8

var unsorted = order{0, 1, 2, 3}

// sorted brings the leases, each with the process of its own, into an order that depends on what is known of them and
// not on their names. States that differ only in names become the same.
func (s *State) sorted(seed maphash.Seed, leases int) (State, order) {
	type lease struct {
		Lease
		Share
		Place, Live, TTL, Kind          int8
		Owner, Dead, Cut, Old, Breaking bool
	}
	o := unsorted
	var keys [MaxLeases]uint64
	for i := range leases {
		keys[i] = maphash.Comparable(seed, lease{s.Lease[i], s.Hold[i], int8(s.place(int8(i))), s.Live[i], s.TTL[i], s.Kind[i],
			s.Owner == int8(i), s.Dead[i], s.Cut[i], s.Old[i], s.Runs > 0 && s.Break.Who == int8(i)})
	}
	slices.SortFunc(o[:leases], func(a, b int8) int {
		switch {
		case keys[a] < keys[b]:
			return -1
		case keys[a] > keys[b]:
			return 1
		}
		return 0
	})
	t := *s
	var now [MaxLeases]int8 // the inverse of o
	for i, was := range o {
		now[was] = int8(i)
		t.Lease[i], t.TTL[i], t.Kind[i] = s.Lease[was], s.TTL[was], s.Kind[was]
		t.Hold[i], t.Old[i] = s.Hold[was], s.Old[was]
		t.Live[i], t.Dead[i], t.Cut[i] = s.Live[was], s.Dead[was], s.Cut[was]
	}
	for i := range s.Queued {
		t.Queue[i] = now[s.Queue[i]]
	}
	if s.Owner >= 0 {
		t.Owner = now[s.Owner]
	}
	if s.Runs > 0 && s.Break.Who >= 0 {
		t.Break.Who = now[s.Break.Who]
	}
	return t, o
}
