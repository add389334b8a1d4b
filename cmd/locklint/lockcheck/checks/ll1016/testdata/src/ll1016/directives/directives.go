package directives

import "context"

//lock:key=a,ttl=30s,cron="0 0 31 6 *"
func neverLocked(ctx context.Context) error { return nil }

//lock:key=b,ttl=30s,cron="30 2 * * *",tz=Europe/Berlin,job=b
func gapLocked(ctx context.Context) error { return nil }

type shop struct{}

//lock:key=c,ttl=30s,cron="0 4 * * *",tz=Europe/Berlin,job=b
func (shop) twiceLocked(ctx context.Context) error { return nil }

//lock:key=d,ttl=30s,cron="0 4 * * *",tz=Europe/Berlin
func fineLocked(ctx context.Context) error { return nil }
