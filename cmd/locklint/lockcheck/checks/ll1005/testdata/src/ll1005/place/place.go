//go:build !neverset

//lock:default ttl=30s,out=locks.go
package place

func plain() {}
