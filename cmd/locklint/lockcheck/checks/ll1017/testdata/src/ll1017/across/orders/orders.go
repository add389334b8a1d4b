package orders

import "context"

// StockKey is meant to be shared.
const StockKey = "stock"

//lock:key=order:{id},ttl=30s
func placeLocked(ctx context.Context, id int64) error { return nil }

//lock:key=@StockKey,ttl=30s
func takeLocked(ctx context.Context) error { return nil }

//lock:key=price:{id},ttl=30s,shared="both change the price"
func quoteLocked(ctx context.Context, id int) error { return nil }

//lock:key=same:{id},ttl=30s
func sameLocked(ctx context.Context, id int64) error { return nil }

func Use() {}
