package ll3003

import "github.com/go-redsync/redsync/v4"

// handedOut gives its caller what it takes to release the lock: redsync.WithValue(token).
func handedOut(rs *redsync.Redsync, name string) (token string, err error) {
	m := rs.NewMutex(name)
	if err := m.Lock(); err != nil {
		return "", err
	}
	return m.Value(), nil
}

func notHandedOut(rs *redsync.Redsync, name string) error {
	m := rs.NewMutex(name)
	if err := m.Lock(); err != nil { // want `LL3003`
		return err
	}
	m.Value()
	return nil
}
