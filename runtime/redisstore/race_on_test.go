//go:build race

package redisstore

const RaceEnabled = true
