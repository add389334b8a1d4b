// Package listing puts the pages of a list of locks together.
package listing

import (
	"cmp"
	"context"
	"slices"

	lockrt "github.com/lockgen/lockgen/runtime"
)

// All is the whole list of a session that lists pages, by key. It asks for limit locks at a time.
func All(ctx context.Context, s lockrt.Pager, prefix string, limit int) ([]lockrt.LockInfo, error) {
	var all []lockrt.LockInfo
	for cursor := ""; ; {
		page, next, err := s.ListPage(ctx, prefix, cursor, limit)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); next == "" {
			Sort(all)
			return all, nil
		}
		cursor = next
	}
}

// Sort puts locks in the order of their keys.
func Sort(locks []lockrt.LockInfo) {
	slices.SortFunc(locks, func(a, b lockrt.LockInfo) int { return cmp.Compare(a.Key, b.Key) })
}
