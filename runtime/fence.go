package lockrt

import "strconv"

// passBits is how many low bits of a fence count the local hand-offs under one epoch of the store.
const passBits = 10

// maxEpochBits is how many bits an epoch has at the most: a double holds it exactly, and its fence stays below 2^63.
const maxEpochBits = 63 - passBits

// Fence is a fencing token. It is below 2^63 and strictly greater for every later acquisition of the same key, across
// processes and across re-creation of the key. Readers that hold the key together share one. Among leases of permits it
// is greater for every later one in the same slot, see [Lease.Slot]. Send it with every write to the protected resource,
// and let the resource refuse a lower fence than the highest that it has seen. This protects the data from a holder that
// was paused beyond its lease. (M. Kleppmann, "How to do distributed locking", 2016.)
type Fence uint64

// String returns the decimal digits.
func (f Fence) String() string { return strconv.FormatUint(uint64(f), 10) }

// FenceOf packs the epoch of a store's grant. The shift is here and not in the store because Redis scripts compute with
// doubles. A double holds an epoch in microseconds exactly, but not the shifted value.
func FenceOf(epoch uint64) Fence { return Fence(epoch << passBits) }

// Epoch returns the epoch of the store's grant, for the store.
func (f Fence) Epoch() uint64 { return uint64(f) >> passBits }
