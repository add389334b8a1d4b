package janitor

import "time"

// place is one in a queue that was left to the next caller.
type place[K any] struct {
	key      K
	patience time.Duration
}

// Leave remembers the place of a lease in a queue, which its caller has left to the next request of the same ID. If there
// is none until [Janitor.Rest], the place is abandoned, as by [Janitor.Abandon].
func (j *Janitor[K]) Leave(id string, key K, patience time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.places[id] = place[K]{key, patience}
	j.kept.Store(int64(len(j.places)))
}

// Take is called by each request, whose place it is now.
func (j *Janitor[K]) Take(id string) {
	if j.kept.Load() == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.places, id)
	j.kept.Store(int64(len(j.places)))
}

func (j *Janitor[K]) abandonPlaces() {
	j.mu.Lock()
	places := j.places
	j.places = make(map[string]place[K])
	j.kept.Store(0)
	j.mu.Unlock()
	for id, p := range places {
		j.Abandon(id, p.key, p.patience)
	}
}
