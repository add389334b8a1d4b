package model

func (p *Protocol) take(s *Server, id, ttl int8) {
	s.Owner, s.Left, s.Given, s.Age = id, ttl, ttl, 0
	s.Epoch = s.Floor + 1
	s.Floor = s.Epoch
	s.Fell = s.Fell || s.Epoch <= s.Issued
	s.Issued = max(s.Issued, s.Epoch)
}

// release is the function of lib.lua.
func (p *Protocol) release(s *Server) []Push {
	left := s.Left
	p.free(s)
	return p.handOn(s, left)
}

// handOn is the function of lib.lua.
func (p *Protocol) handOn(s *Server, left int8) []Push {
	for s.Queued > 0 {
		id := s.Queue[0]
		live := s.Live[p.Proc[id]] > 0
		if !live || p.Fault != "granted waiter stays in the queue" {
			s.leave(id)
		}
		if live || p.Fault == "hand on to the dead" {
			// A waiter that has died holds the lock no longer than its process counts as live.
			ttl, whole := s.TTL[id], s.Live[p.Proc[id]] > s.TTL[id]
			if live && p.Fault != "dead waiter gets a whole lease" {
				ttl = min(ttl, s.Live[p.Proc[id]])
			}
			p.take(s, id, ttl)
			pushed := []Push{{To: id, Epoch: s.Epoch, TTL: ttl}}
			if s.Queued > 0 && left >= ttl && whole { // a short lease is about to be lengthened, and not worth a poke
				pushed = append(pushed, Push{To: s.Queue[0], Poke: true, Maybe: left == ttl})
			}
			return pushed
		}
	}
	s.WaitersLeft, s.Live = 0, [MaxProcs]int8{}
	return nil
}

func (p *Protocol) free(s *Server) {
	s.Owner, s.Epoch, s.Marked, s.Left, s.Given, s.Age, s.Ends = None, 0, false, 0, 0, 0, 0
	if p.Fault == "floor goes with the lock" {
		s.Floor = 0
	}
}

// show is what acquire.lua and alive.lua do for a process that waits.
func (p *Protocol) show(s *Server, proc int8) {
	if p.Fault == "queue without expiry" {
		s.Live[proc], s.WaitersLeft = p.liveness(), -1
		return
	}
	s.Live[proc], s.WaitersLeft = p.liveness(), 2*p.liveness()
}

func (p *Protocol) liveness() int8 {
	if p.Liveness == 0 {
		return Liveness
	}
	return p.Liveness
}

// place returns the lease's place in the queue, negative if it has none.
func (s *Server) place(id int8) int {
	for i := range s.Queued {
		if s.Queue[i] == id {
			return int(i)
		}
	}
	return -1
}

func (s *Server) leave(id int8) {
	at := s.place(id)
	if at < 0 {
		return
	}
	copy(s.Queue[at:], s.Queue[at+1:])
	s.Queued--
	s.Queue[s.Queued] = 0
}
