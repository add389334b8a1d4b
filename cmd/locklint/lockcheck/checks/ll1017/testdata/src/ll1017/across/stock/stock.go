package stock

import (
	"context"

	"ll1017/across/orders"
)

//lock:key={kind}:{id},ttl=30s
func moveLocked(ctx context.Context, kind string, id int) error { orders.Use(); return nil }

//lock:key=@orders.StockKey,ttl=30s
func putLocked(ctx context.Context) error { return nil }

//lock:key=price:{name},ttl=40s,shared="both change the price"
func markLocked(ctx context.Context, name string) error { return nil }

//lock:key=same:{id},ttl=30s
func sameLocked(ctx context.Context, id int64) error { return nil }

func Use() {}
