package model

// ends says when the lease in the way of a waiter is over. For a waiter for a permit among permits it is the first that
// ends, for others the last.
type ends struct {
	first, last int8
	permits     bool
}

func (s *Server) ends() ends {
	if s.Owner != Permits {
		return ends{s.Left, s.Left, false}
	}
	first := s.Left
	for _, h := range s.Hold {
		if h.Left > 0 {
			first = min(first, h.Left)
		}
	}
	return ends{first, s.Left, true}
}

func (e ends) of(kind int8) int8 {
	if e.permits && kind > 0 {
		return e.first
	}
	return e.last
}

// fits reports whether a lease can join those that hold the lock.
func (p *Protocol) fits(s *Server, id int8) bool {
	n := int8(0)
	for _, h := range s.Hold {
		if h.Left > 0 {
			n++
		}
	}
	kind := s.Kind[id]
	switch {
	case s.Owner == None, s.Shared() && n == 0:
		return true
	case !s.Shared() || s.Marked:
		return false
	case p.Fault == "modes are not compared":
		return true
	case kind == Reader:
		return s.Owner == Readers
	}
	return kind > 0 && s.Owner == Permits && n-s.Extra < kind
}

// join makes a lease that fits a holder for ttl ticks. A reader gets the epoch of the readers that it joins. A permit
// gets an epoch of its own, and the lowest slot that is free.
func (p *Protocol) join(s *Server, id, ttl int8) {
	kind := s.Kind[id]
	if kind == Writer && (!s.Shared() || p.Fault != "modes are not compared") {
		p.take(s, id, ttl)
		return
	}
	owner, first := Permits, false
	if kind <= Reader || kind == Writer {
		owner = Readers
	}
	if s.Owner != owner {
		first = true
		s.Owner, s.Marked, s.Given, s.Age, s.Left, s.Ends = owner, false, 0, 0, 0, 0
		if p.Fault != "holders of before count" {
			s.Hold = [MaxLeases]Share{}
		}
	}
	h := Share{Left: ttl, Epoch: s.Epoch}
	if first || kind > 0 || p.Fault == "every reader has an epoch of its own" {
		h.Epoch = p.issue(s)
	}
	if first || kind > 0 { // keeps the floor when a node that knows no kinds breaks the lock
		s.Epoch = h.Epoch
	}
	if kind > 0 && p.Fault != "slots are not looked at" {
		for s.slotTaken(h.Slot) {
			h.Slot++
		}
	}
	s.Hold[id] = h
	p.settle(s, ttl)
}

func (s *Server) slotTaken(slot int8) bool {
	for _, h := range s.Hold {
		if h.Left > 0 && h.Slot == slot {
			return true
		}
	}
	return false
}

// issue gives an epoch that is higher than all before.
func (p *Protocol) issue(s *Server) uint8 {
	s.Floor++
	s.Fell = s.Fell || s.Floor <= s.Issued
	s.Issued = max(s.Issued, s.Floor)
	return s.Floor
}

// settle makes the lock last as long as the longest share. Without shares it is free. changed is how long the lease
// whose share has changed lasts, or would have lasted.
func (p *Protocol) settle(s *Server, changed int8) {
	last := int8(0)
	for _, h := range s.Hold {
		last = max(last, h.Left)
	}
	if s.Left = last; last > 0 && p.Fault == "the lock ends with whoever changed last" {
		s.Left = changed
	}
	if last == 0 {
		p.free(s)
		s.Hold, s.Extra = [MaxLeases]Share{}, 0
	}
}

// admit grants the lock to the waiters at the head of the queue that fit: one writer, or all adjacent readers, or as
// many permits as are free. No waiter overtakes one that does not fit. The first that stays is poked if the lease in
// its way ends sooner than it knows. It is not poked if a lease that was just granted is about to be lengthened.
func (p *Protocol) admit(s *Server, before ends) []Push {
	if s.Owner != None && !s.Shared() {
		return nil
	}
	var pushed []Push
	var readers []int8
	lengthens := false
	for s.Queued > 0 {
		id := s.Queue[0]
		if s.Owner != None && !s.Shared() {
			break // a writer has it
		}
		live := s.Live[p.Proc[id]]
		if live > 0 && !p.fits(s, id) {
			break
		}
		s.leave(id)
		if live == 0 && p.Fault != "hand on to the dead" {
			continue
		}
		ttl := s.TTL[id]
		if p.Fault != "dead waiter gets a whole lease" && live > 0 {
			ttl = min(ttl, live)
		}
		lengthens = lengthens || live <= s.TTL[id]
		p.join(s, id, ttl)
		epoch := s.Hold[id].Epoch
		if s.Owner == id {
			epoch = s.Epoch
		}
		if s.Owner == Readers {
			readers = append(readers, id)
		}
		pushed = append(pushed, Push{To: id, Epoch: epoch, TTL: ttl})
	}
	if s.Queued == 0 {
		s.WaitersLeft, s.Live = 0, [MaxProcs]int8{}
		return pushed
	}
	for _, id := range readers {
		pushed = append(pushed, Push{To: id, Recall: true})
	}
	head := s.Queue[0]
	if was, is := before.of(s.Kind[head]), s.ends().of(s.Kind[head]); was >= is && !lengthens {
		pushed = append(pushed, Push{To: head, Poke: true, Maybe: was == is})
	}
	return pushed
}

// headFits returns the lease at the head of the queue if it could have the lock and its process lives, else None.
func (p *Protocol) headFits(s *Server) int8 {
	if s.Queued == 0 || s.Live[p.Proc[s.Queue[0]]] == 0 || !s.Shared() || !p.fits(s, s.Queue[0]) {
		return None
	}
	return s.Queue[0]
}
