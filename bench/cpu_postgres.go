package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is a unit of /proc: USER_HZ is 100 on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// postgresCPU is the processor time that a server on this machine has used, with all its processes: those that have
// ended count with the first one.
func postgresCPU(ctx context.Context, db *sql.DB) (used time.Duration, err error) {
	var text string
	if err := db.QueryRowContext(ctx, "SELECT pg_read_file('postmaster.pid')").Scan(&text); err != nil {
		return 0, fmt.Errorf("ask for the process of the server: %w", err)
	}
	pid, _, _ := strings.Cut(text, "\n")
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// The name of the program is in brackets, and may hold anything. What follows begins with the state and the parent.
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		isFirst := filepath.Base(filepath.Dir(name)) == pid
		if len(f) < 15 || !isFirst && f[1] != pid {
			continue
		}
		last := 12 // user and system time, and of the first process those of its children that have ended
		if isFirst {
			last = 14
		}
		for _, field := range f[11 : last+1] {
			n, _ := strconv.Atoi(field)
			used += time.Duration(n) * tick
		}
	}
	return used, err
}
