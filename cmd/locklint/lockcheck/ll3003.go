package lockcheck

var ll3003 = newCheck("LL3003", "not unlocked on all paths", Error, false, func(r *reporter) { r.checkLeaks(isPeer) })
