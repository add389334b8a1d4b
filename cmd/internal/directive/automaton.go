package directive

// A byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(c byte)     { s[c>>6] |= 1 << (c & 63) }
func (s byteSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func setOfBytes(text string) byteSet {
	var s byteSet
	for i := range len(text) {
		s.add(text[i])
	}
	return s
}

// common is a byte that two sets share, the most readable one.
func (s byteSet) common(other byteSet) (byte, bool) {
	const readable = "1a02345678bcdefghijklmnopqrstuvwxyz9ABCDEFGHIJKLMNOPQRSTUVWXYZ-._~:/%"
	for i := range len(readable) {
		if c := readable[i]; s.has(c) && other.has(c) {
			return c, true
		}
	}
	for c := range 256 {
		if s.has(byte(c)) && other.has(byte(c)) {
			return byte(c), true
		}
	}
	return 0, false
}

// An automaton reads the keys that a template can give. State 0 is the start, the last one the end.
type automaton struct{ edges [][]edge }

// An edge leads to a state by one byte of a set, or by none.
type edge struct {
	on    byteSet
	empty bool
	to    int
}

func (a *automaton) state() int {
	a.edges = append(a.edges, nil)
	return len(a.edges) - 1
}

func (a *automaton) link(from, to int, on byteSet) {
	a.edges[from] = append(a.edges[from], edge{on: on, to: to})
}

func (a *automaton) skip(from, to int) {
	a.edges[from] = append(a.edges[from], edge{empty: true, to: to})
}

// text reads a text from a state and returns the state behind it.
func (a *automaton) text(from int, text string) int {
	for i := range len(text) {
		next := a.state()
		a.link(from, next, setOfBytes(text[i:i+1]))
		from = next
	}
	return from
}

// meet finds a text that two automata read, a shortest one.
func meet(a, b *automaton) (string, bool) {
	type pair struct{ a, b int }
	type step struct {
		from pair
		c    byte
		none bool
	}
	came := map[pair]step{{0, 0}: {none: true}}
	end := pair{len(a.edges) - 1, len(b.edges) - 1}
	queue := []pair{{0, 0}}
	visit := func(to pair, by step) {
		if _, ok := came[to]; !ok {
			came[to] = by
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == end {
			var text []byte
			for at != (pair{}) {
				by := came[at]
				if !by.none {
					text = append([]byte{by.c}, text...)
				}
				at = by.from
			}
			return string(text), true
		}
		for _, x := range a.edges[at.a] {
			if x.empty {
				visit(pair{x.to, at.b}, step{from: at, none: true})
				continue
			}
			for _, y := range b.edges[at.b] {
				if c, ok := x.on.common(y.on); !y.empty && ok {
					visit(pair{x.to, y.to}, step{from: at, c: c})
				}
			}
		}
		for _, y := range b.edges[at.b] {
			if y.empty {
				visit(pair{at.a, y.to}, step{from: at, none: true})
			}
		}
	}
	return "", false
}
