package redisstore

import (
	"strings"

	"github.com/lockgen/lockgen/internal/redistag"
)

// clusterSlots is into how many slots Redis Cluster divides all keys.
const clusterSlots = 1 << 14

// slotOf returns the slot of a lock's keys in Redis Cluster: the CRC-16 (XMODEM) of what stands between their braces.
func slotOf(name string) int { return slotOfTag(redistag.Encode(name)) }

// slotOfKey is slotOf for the lock's key.
func slotOfKey(key string) int {
	_, tag, _ := strings.Cut(key, "{")
	tag, _, _ = strings.Cut(tag, "}")
	return slotOfTag(tag)
}

func slotOfTag(tag string) int {
	crc := uint16(0)
	for _, b := range []byte(tag) {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^b]
	}
	return int(crc % clusterSlots)
}

var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()
