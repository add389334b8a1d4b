package etcdtest

import (
	"slices"

	etcd "go.etcd.io/etcd/client/v3"
)

// watchedTxn hands a transaction, with what it does if its conditions hold, to a function that commits it.
type watchedTxn struct {
	etcd.Txn
	thens  []etcd.Op
	commit func(txn etcd.Txn, thens []etcd.Op) (*etcd.TxnResponse, error)
}

func (x *watchedTxn) If(cs ...etcd.Cmp) etcd.Txn {
	x.Txn = x.Txn.If(cs...)
	return x
}

func (x *watchedTxn) Then(ops ...etcd.Op) etcd.Txn {
	x.Txn, x.thens = x.Txn.Then(ops...), append(x.thens, ops...)
	return x
}

func (x *watchedTxn) Else(ops ...etcd.Op) etcd.Txn {
	x.Txn = x.Txn.Else(ops...)
	return x
}

func (x *watchedTxn) Commit() (*etcd.TxnResponse, error) { return x.commit(x.Txn, x.thens) }

func writes(ops []etcd.Op) bool {
	return slices.ContainsFunc(ops, func(op etcd.Op) bool { return !op.IsGet() })
}
