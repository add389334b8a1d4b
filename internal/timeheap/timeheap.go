// Package timeheap keeps elements in the order of the times when something is to be done about them.
package timeheap

import "time"

// Heap is a heap by time whose elements know their indices in it, so that any of them can be moved or removed. The
// elements are pointers, as a rule; each is in the heap once at most. It allocates only to grow.
type Heap[T any] struct {
	index func(T) *int
	items []item[T]
}

// item has the time beside the element: comparing many touches none of them.
type item[T any] struct {
	at time.Time
	x  T
}

// New returns an empty heap. index is where an element keeps its index in this heap, which is the heap's own: 0, as it
// has to be at first, while the element is outside.
func New[T any](index func(T) *int) Heap[T] { return Heap[T]{index: index} }

// Len returns the number of elements.
func (h *Heap[T]) Len() int { return len(h.items) }

// Has reports whether x is in the heap.
func (h *Heap[T]) Has(x T) bool { return *h.index(x) > 0 }

// First returns the element whose time comes first. The heap must not be empty.
func (h *Heap[T]) First() (x T, at time.Time) { return h.items[0].x, h.items[0].at }

// Set puts x into the heap, or gives it another time.
func (h *Heap[T]) Set(x T, at time.Time) {
	i := *h.index(x) - 1
	if i < 0 {
		i = len(h.items)
		h.items = append(h.items, item[T]{})
	}
	h.settle(i, item[T]{at, x})
}

// Remove takes x out, if it is in the heap.
func (h *Heap[T]) Remove(x T) {
	i := *h.index(x) - 1
	if i < 0 {
		return
	}
	*h.index(x) = 0
	end := len(h.items) - 1
	last := h.items[end]
	h.items[end] = item[T]{}
	h.items = h.items[:end]
	if i < end {
		h.settle(i, last)
	}
}

// TakeDue takes out the first element if its time is not after now.
func (h *Heap[T]) TakeDue(now time.Time) (x T, ok bool) {
	if len(h.items) == 0 || h.items[0].at.After(now) {
		return x, false
	}
	x = h.items[0].x
	h.Remove(x)
	return x, true
}

// settle puts it where there is room at i, or above or below.
func (h *Heap[T]) settle(i int, it item[T]) {
	for i > 0 {
		parent := (i - 1) / 2
		if !it.at.Before(h.items[parent].at) {
			break
		}
		h.put(i, h.items[parent])
		i = parent
	}
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if right := child + 1; right < len(h.items) && h.items[right].at.Before(h.items[child].at) {
			child = right
		}
		if !h.items[child].at.Before(it.at) {
			break
		}
		h.put(i, h.items[child])
		i = child
	}
	h.put(i, it)
}

func (h *Heap[T]) put(i int, it item[T]) {
	h.items[i] = it
	*h.index(it.x) = i + 1
}
