package waits

// KeysOf is how many keys are known.
func KeysOf[A any](t *Together[A]) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.keys)
}
