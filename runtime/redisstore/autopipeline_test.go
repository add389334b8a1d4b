package redisstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockgen/lockgen/internal/testenv"
	lockrt "github.com/lockgen/lockgen/runtime"
	"github.com/lockgen/lockgen/runtime/redisstore"
)

// It would run an acquire whose caller has given up, and repeat a release whose answer was lost.
func TestNew_refusesAnAutoPipeliner(t *testing.T) {
	pipeliner, err := newClient(t, testenv.Redis(t)).AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockrt.New(redisstore.New(pipeliner, redisstore.Config{}), lockrt.Config{})
	if !errors.Is(err, lockrt.ErrOptions) || !strings.Contains(err.Error(), "AutoPipeliner") {
		t.Errorf("the error is %v, want ErrOptions that names the AutoPipeliner", err)
	}
}
