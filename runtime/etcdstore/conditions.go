package etcdstore

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	etcd "go.etcd.io/etcd/client/v3"
)

// createdAt is the condition that a key was made at a revision; 0: there is none. It is what etcd.Compare makes, which
// copies each part by reflection: one of these goes with every request for a lock.
func createdAt(key string, rev int64) etcd.Cmp {
	c := etcd.CreateRevision(key)
	c.GetCompare().TargetUnion = &pb.Compare_CreateRevision{CreateRevision: rev}
	return c
}

// changedAt is the condition that a key was last written at a revision.
func changedAt(key string, rev int64) etcd.Cmp {
	c := etcd.ModRevision(key)
	c.GetCompare().TargetUnion = &pb.Compare_ModRevision{ModRevision: rev}
	return c
}
