package lockcheck

// pathChecks are the checks that rest on the data flow of leases and locks, and the rest of LL1 and LL3.
var pathChecks = []*Check{
	ll1002, ll1006, ll1007, ll1008, ll1009, ll1010, ll1011,
	ll1012, ll1013, ll1014, ll1016, ll1017,
	ll3001, ll3002, ll3003, ll3004, ll3005, ll3006, ll3007, ll3008,
}
