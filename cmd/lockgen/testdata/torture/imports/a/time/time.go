package time

type Zone string

func (z Zone) MarshalText() ([]byte, error) { return []byte("a-" + string(z)), nil }
