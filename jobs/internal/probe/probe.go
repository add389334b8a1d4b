// Package probe has a generated job for each scheduling option of the directive, so that a test can see that the option
// reaches the scheduler.
package probe

//go:generate go run github.com/lockgen/lockgen/cmd/lockgen

import "context"

// Work is what the jobs do. It is told which of them runs.
type Work func(ctx context.Context, job string) error

//lock:key=probe:tokyo,ttl=30s,cron="30 2 * * *",tz=Asia/Tokyo,job=early-in-tokyo
func tokyoLocked(ctx context.Context, work Work) error { return work(ctx, "tokyo") }

//lock:key=probe:forgets,ttl=30s,cron="*/10 * * * *",misfire=skip
func forgetsLocked(ctx context.Context, work Work) error { return work(ctx, "forgets") }

//lock:key=probe:replays,ttl=30s,cron="*/10 * * * *",misfire=all
func replaysLocked(ctx context.Context, work Work) error { return work(ctx, "replays") }

//lock:key=probe:condenses,ttl=30s,cron="*/10 * * * *",misfire=once
func condensesLocked(ctx context.Context, work Work) error { return work(ctx, "condenses") }

//lock:key=probe:gives-way,ttl=30s,cron="1,2 5 * * *",overlap=skip
func givesWayLocked(ctx context.Context, work Work) error { return work(ctx, "gives way") }

//lock:key=probe:queues,ttl=30s,cron="1,2 5 * * *",overlap=queue
func queuesLocked(ctx context.Context, work Work) error { return work(ctx, "queues") }

//lock:key=probe:replaces,ttl=30s,cron="1,2 5 * * *",overlap=replace
func replacesLocked(ctx context.Context, work Work) error { return work(ctx, "replaces") }

//lock:key=probe:waits,ttl=30s,wait=5m,cron="1,2 5 * * *",overlap=skip
func waitsLocked(ctx context.Context, work Work) error { return work(ctx, "waits") }

//lock:key=probe:ends,ttl=30s,cron="1 5 * * *",timeout=20s
func endsLocked(ctx context.Context, work Work) error { return work(ctx, "ends") }

//lock:key=probe:tries,ttl=30s,cron="1 5 * * *",retries=2
func triesLocked(ctx context.Context, work Work) error { return work(ctx, "tries") }

//lock:key=probe:spreads,ttl=30s,cron="* 5 * * *",jitter=40s
func spreadsLocked(ctx context.Context, work Work) error { return work(ctx, "spreads") }
