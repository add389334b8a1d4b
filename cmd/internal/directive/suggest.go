package directive

import (
	"fmt"
	"strings"
)

// Nearest is the candidate that word was probably meant to be, or "" if none is close: the same but for case, or within
// one edit, two from five letters on. Of equally close ones the first wins.
func Nearest(word string, candidates []string) string {
	limit := 1
	if len(word) >= 5 {
		limit = 2
	}
	best, bestDistance := "", limit+1
	for _, c := range candidates {
		if c == "" || c == word {
			continue
		}
		d := distance(strings.ToLower(word), strings.ToLower(c))
		// Two letters may be any two letters: one edit of them is no likeness, except a swap of case.
		if len(word) <= 2 && d > 0 {
			continue
		}
		if d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// didYouMean is the half sentence that offers a candidate, "" without one.
func didYouMean(candidate string) string {
	if candidate == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", candidate)
}

// distance is the number of insertions, deletions, substitutions and swaps of neighbours that turn a into b (each place
// edited at most once).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > 64 || len(t) > 64 {
		return 64 // too long for a misspelled name, and the table grows with the product
	}
	rows := make([][]int, len(s)+1)
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
		rows[i][0] = i
	}
	for j := range t {
		rows[0][j+1] = j + 1
	}
	for i := range s {
		for j := range t {
			cost := 1
			if s[i] == t[j] {
				cost = 0
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, rows[i][j]+cost)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(s)][len(t)]
}

// oneOf lists words for a message: `a, b or c`.
func oneOf(words []string) string { return oneOfWith(words, " or ") }

func oneOfWith(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + conjunction + words[last]
}
