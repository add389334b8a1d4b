package lockcheck

var ll3004 = newCheck("LL3004",
	"unlocked before the transaction commits, or taken inside it", Error, false,
	func(r *reporter) { r.checkTransactions(isPeer) })
