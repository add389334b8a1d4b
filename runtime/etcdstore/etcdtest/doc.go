// Package etcdtest tests package etcdstore on servers of etcd, which are in the test binary itself: nothing has to be
// installed. It is a module of its own so that users of the store do not download the server.
package etcdtest
