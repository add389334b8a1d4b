package keys

import "context"

const shared = "shared"

//lock:key=report,ttl=30s
func reportLocked(ctx context.Context) error { return nil }

//lock:key=report,ttl=30s
func cleanupLocked(ctx context.Context) error { return nil }

//lock:key=@shared,ttl=30s
func oneLocked(ctx context.Context) error { return nil }

//lock:key=@shared,ttl=30s
func twoLocked(ctx context.Context) error { return nil }

//lock:key=order:{id},ttl=30s
func payLocked(ctx context.Context, id int) error { return nil }

//lock:key=order:{id},ttl=30s
func cancelLocked(ctx context.Context, id int) error { return nil }
