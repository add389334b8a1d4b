package shop

import (
	"context"
	"testing"
)

func TestPlace(t *testing.T) {
	if err := new(Shop).placeLocked(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
}
