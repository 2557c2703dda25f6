package sqlerr

import (
	"iter"
	"strings"
)

// Closest returns the candidate nearest to a word in edit distance, without
// case, for a hint that asks whether it was meant; "" when none is near enough to
// be a slip of the pen.
func Closest(word string, candidates iter.Seq[string]) string {
	best, limit := "", min(2, len([]rune(word))/2)
	for c := range candidates {
		if d := distance(strings.ToUpper(word), strings.ToUpper(c), limit); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// distance returns the number of insertions, deletions, substitutions and
// swaps of neighbours that turn one text into the other (restricted
// Damerau–Levenshtein), or more than limit when the lengths alone exceed it.
func distance(from, to string, limit int) int {
	a, b := []rune(from), []rune(to)
	if max(len(a), len(b))-min(len(a), len(b)) > limit {
		return limit + 1
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}
