package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// infoNumber reads one number of INFO.
func infoNumber(ctx context.Context, client *redis.Client, section, field string) (int64, error) {
	text, err := client.Info(ctx, section).Result()
	if err != nil {
		return 0, fmt.Errorf("ask the server for its %s: %w", field, err)
	}
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(line, field+":"); ok {
			return strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		}
	}
	return 0, fmt.Errorf("INFO %s of the server has no %s", section, field)
}
