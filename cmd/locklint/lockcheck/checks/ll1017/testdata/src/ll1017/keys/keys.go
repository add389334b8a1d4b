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

//lock:key=cart:{id},ttl=30s
func addLocked(ctx context.Context, id string) error { return nil }

//lock:key=cart:{len(ids)},ttl=30s
func countLocked(ctx context.Context, ids []string) error { return nil }

//lock:key=stock:{id},ttl=30s,shared="both change the stock"
func takeLocked(ctx context.Context, id string) error { return nil }

//lock:key=stock:{id},ttl=40s,shared="both change the stock"
func putLocked(ctx context.Context, id int) error { return nil }

//lock:key=price:{id},ttl=30s
func quoteLocked(ctx context.Context, id int) error { return nil }

//lock:key=price:list,ttl=30s
func listLocked(ctx context.Context) error { return nil }

//lock:key=gpu:{id},permits=4,ttl=30s
func renderLocked(ctx context.Context, id int) error { return nil }

//lock:key=gpu:{id},permits=3,ttl=30s
func encodeLocked(ctx context.Context, id int) error { return nil }

//lock:key=catalog:{id},mode=read,ttl=30s
func findLocked(ctx context.Context, id int) error { return nil }

//lock:key=catalog:{id},ttl=30s,minhold=1s
func importLocked(ctx context.Context, id int) error { return nil }
