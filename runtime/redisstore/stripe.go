package redisstore

// combineStripes is into how many parts of equal size the slots of a cluster are divided. Its servers have ranges of
// slots, so hardly a part is on two of them.
const combineStripes = 64

// combiners are those of the stripes: a call that goes to several servers of a cluster is as slow as the slowest of
// them, and locks must not wait for a server that has none of them. Without a cluster there is one.
type combiners []*combiner

func (c combiners) of(keys lockKeys) *combiner {
	if len(c) == 1 {
		return c[0]
	}
	return c[slotOfKey(keys.lock)*len(c)/clusterSlots]
}

// wait returns when no call is in flight.
func (c combiners) wait() {
	for _, one := range c {
		one.inFlight.Wait()
	}
}
