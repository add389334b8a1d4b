// Package middle stands between store and user: it imports no client, but passes its facts on. // want package:`carrier`
package middle

import (
	"context"
	"time"

	"facts/store"
)

type Middle struct{ Store *store.Store }

func (m *Middle) Begin(ctx context.Context, id string) bool { // want Begin:`redis\(SetNX`
	return m.Store.PutIfAbsent(ctx, "import:"+id, time.Minute)
}

func (m *Middle) End(ctx context.Context, id string) { // want End:`redis\(DEL`
	m.Store.Remove(ctx, "import:"+id)
}
