package reasons

var (
	a = 1 //locklint:ignore LL2002
	b = 1 //locklint:ignore
	//locklint:ignore LL1001,LL2002
	c = a + b + c2
)

const c2 = 2
